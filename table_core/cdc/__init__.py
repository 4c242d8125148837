"""Foreign change streams."""
