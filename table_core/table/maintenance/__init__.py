"""What keeps a table in shape, and what follows a commit."""
