"""Avro files of rows."""
