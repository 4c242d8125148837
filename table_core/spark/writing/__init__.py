"""DataFrames to tables."""
