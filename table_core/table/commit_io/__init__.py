"""Commits, carried out against a store."""
