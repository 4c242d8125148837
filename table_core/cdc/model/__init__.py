"""What a change stream is made of: events, types, positions.  Pure."""
