"""The commit protocol carried out against a store."""
