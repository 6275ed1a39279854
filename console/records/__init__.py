"""Records: places to read from, pages, searches, live tails, and their JSON."""
