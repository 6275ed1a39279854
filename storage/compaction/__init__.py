"""Compaction: which logs are due, how segments are rewritten, and the child process that does it."""
