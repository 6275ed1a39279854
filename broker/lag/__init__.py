"""How far groups lag behind: in records and in seconds, with a verdict for each."""
