"""SQL statements: what a text says, before anything is read or written."""
