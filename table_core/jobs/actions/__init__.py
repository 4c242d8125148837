"""The verbs, a module for each noun: every module has a tuple ``ACTIONS``."""
