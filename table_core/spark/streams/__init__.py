"""Streams on Spark: tables as sources and as sinks, each row exactly once."""
