"""Admission of requests: which request may start now, and which connections are read.

Start at ``gate.py`` (`Gate`): each request passes it once. It asks the fair queue for loop time (``fair_queue.py``) and
the budget for memory (``memory.py``). ``read_pause.py`` has every reason why a connection is not read.
"""
