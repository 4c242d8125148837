"""Which files to rewrite."""
