"""What Paimon shows behind ``$`` (spec 12)."""
