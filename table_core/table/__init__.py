"""Joins deciding to storage."""
