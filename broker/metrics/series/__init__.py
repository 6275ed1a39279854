"""The table of series: each name, type, help text and label is declared here once."""
