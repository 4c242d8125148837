"""What is new in a table, and what an event says of it.  Pure."""
