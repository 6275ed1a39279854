"""One file per API: from a request message to a response message."""
