"""Rows about storage."""
