"""Paimon tables in Python on Arrow."""
