"""What a table is: its documents, loaded and written; names for its states."""
