"""Reads the words of arguments: moments, sizes, partitions, settings. Each raises CommandError for bad input."""
