"""Every stored byte except data files."""
