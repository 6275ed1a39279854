"""One partition on this broker, and the requests that wait for it."""
