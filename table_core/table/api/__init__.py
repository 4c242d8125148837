"""The handles that users hold: catalogs and tables."""
