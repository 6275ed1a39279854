"""The verbs of ``pybroker users``."""

from ..verb import Noun
from .verbs import ADD, LIST, REMOVE

__all__ = ["USERS"]

USERS = Noun("users", "Lists, adds and removes users that log in by SCRAM.", (LIST, ADD, REMOVE))
