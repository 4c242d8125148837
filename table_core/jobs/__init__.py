"""Jobs as documents, and the process that carries them out."""
