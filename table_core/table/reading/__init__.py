"""The reads of a table: decided as splits, done as Arrow batches."""
