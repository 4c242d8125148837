"""Which bucket a row belongs to."""
