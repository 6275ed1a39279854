"""A small blocking client: what a task needs of a broker to read record batches as they are stored.

Clients that are at hand decode each record into objects; this one hands out the bytes that FETCH brings. Messages are
those of `protocol/`. One thread, one connection a broker.
"""
