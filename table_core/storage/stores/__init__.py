"""Stores: local disk, object stores, memory, and their locks."""
