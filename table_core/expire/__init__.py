"""What may go."""
