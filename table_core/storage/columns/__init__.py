"""Columns between files and tables, whatever the format."""
