"""Named states of a table: tags, branches, and going back."""
