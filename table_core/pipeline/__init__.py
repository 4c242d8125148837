"""Pipelines that run on: which hop comes after which, what is due, and who runs one."""
