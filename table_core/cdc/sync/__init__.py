"""Syncs as users call them: a source, its reader, and the tables that follow it."""
