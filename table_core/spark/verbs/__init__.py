"""The verbs of a table, distributed."""
