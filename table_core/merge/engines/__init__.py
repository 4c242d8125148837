"""Merge engines: which row a key has in the end."""
