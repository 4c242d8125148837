"""How far a reader has come in a source, and what comes next."""
