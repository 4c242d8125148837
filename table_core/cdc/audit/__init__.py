"""The rows of a table beside those of its source: what differs, by key."""
