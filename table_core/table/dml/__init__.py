"""Statements: update, delete, merge into, overwrite."""
