"""What stands in the way of working with tables here, each with what to do about it."""
