"""Coordinators: consumer groups and the topics that hold their state."""
