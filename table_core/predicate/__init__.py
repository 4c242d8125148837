"""What a reader wants."""
