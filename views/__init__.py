"""Shapes of the broker's JSON documents under /v1: cluster, brokers, topics, groups, clients, requests, settings.

One file a subject, one frozen dataclass a shape. Broker, console and command line show the same shapes.
`json_text.py` writes them, `resources.py` lists their paths, `openapi.py` describes both.
Null means that the broker does not know a value. Times are ms since 1970, sizes are bytes, rates are per second.
"""
