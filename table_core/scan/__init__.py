"""What to read."""
