"""Files of change events."""
