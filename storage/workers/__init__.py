"""The worker pool and its queues, and the child process that reads big batches."""
