"""Change events, applied to tables."""
