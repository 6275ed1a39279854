"""The rows of the table of events, one file for each part of the broker."""
