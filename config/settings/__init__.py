"""The table of settings, one file for each subject."""
