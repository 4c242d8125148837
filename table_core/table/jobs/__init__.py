"""Jobs: what one is told, does and answers, whatever engine runs it."""
