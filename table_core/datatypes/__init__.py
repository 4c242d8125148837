"""What a value is."""
