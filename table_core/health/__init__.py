"""What a table needs, from its numbers."""
