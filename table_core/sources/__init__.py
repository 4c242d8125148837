"""Where change events come from: files, and later servers."""
