"""A clock that tests move: the wall clock, and the timers of groups, transactions and idle connections."""
