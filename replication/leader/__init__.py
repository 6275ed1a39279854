"""The leader's side: reads for consumers and followers, fetch sessions, offset look-ups."""
