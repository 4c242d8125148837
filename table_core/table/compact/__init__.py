"""Compactions of buckets."""
