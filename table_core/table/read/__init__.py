"""States and changes of a table as rows."""
