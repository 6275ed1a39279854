"""The follower's side: fetching from leaders, truncation, appends to the local log."""
