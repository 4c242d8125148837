"""The history of a table's metadata as documents: what a collector keeps, and what pages are made of."""
