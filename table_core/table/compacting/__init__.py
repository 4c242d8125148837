"""Compaction carried out: what is picked, read, merged and written, and its lookups."""
