"""Names for states of a table: tags, branches, consumers."""
