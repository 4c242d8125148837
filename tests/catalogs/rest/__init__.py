"""Paimon's REST catalog server, for tests."""
