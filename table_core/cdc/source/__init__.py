"""The sources of change capture: who connects to them, and what reads them."""
