"""Many rows of one key to one row."""
