"""SQL statements carried out by the verbs of a catalog and its tables."""
