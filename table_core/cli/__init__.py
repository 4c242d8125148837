"""The ``table-core`` command."""
