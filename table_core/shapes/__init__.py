"""Shapes: what a value may be, said once for a job, an operator, a command line and a file."""
