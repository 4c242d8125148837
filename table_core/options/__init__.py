"""What a user may set."""
