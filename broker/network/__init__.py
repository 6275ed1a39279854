"""Sockets, frames and back-pressure: bytes from clients to a handler, its replies back to them.

Start at ``listener.py`` (``Listeners``) and ``request.py`` (what a handler gets and gives).
"""
