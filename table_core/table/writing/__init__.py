"""Rows to files: buckets, buffers, data files, and what was not committed."""
