"""How a change becomes visible."""
