"""Quotas of clients: limits by user, client id and address, what clients use of them, and how long they must wait."""
