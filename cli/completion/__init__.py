"""Completion of words in shells: ``pybroker completion``."""
