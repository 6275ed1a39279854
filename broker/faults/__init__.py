"""Faults that a test sets on a running broker: error codes, delays, lost requests and answers, broken connections.

Start at ``faults.py`` (what a test calls) and ``faulting_dispatcher.py`` (where a fault meets a request).
"""
