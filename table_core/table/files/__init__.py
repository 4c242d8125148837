"""Data files, read and written."""
