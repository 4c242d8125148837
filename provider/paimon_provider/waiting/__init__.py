"""What sensors wait for."""
