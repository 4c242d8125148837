"""What Paimon shows behind ``$`` (format 12)."""
