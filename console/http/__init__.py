"""HTTP of the console: guards of every request, replies and their errors, streams of events."""
