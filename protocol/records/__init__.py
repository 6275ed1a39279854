"""Record batches and message sets: read, written, compressed and converted."""
