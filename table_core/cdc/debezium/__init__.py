"""Decoders of Debezium's events and of formats like it."""
