"""Statements: delete, update, merge-into, overwrite, and the marks they leave."""
