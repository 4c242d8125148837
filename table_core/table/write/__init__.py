"""Rows to files that a commit can name."""
