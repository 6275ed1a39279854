"""The verbs of ``pybroker quotas``."""

from ..verb import Noun
from .verbs import LIST, SET, UNSET

__all__ = ["QUOTAS"]

QUOTAS = Noun("quotas", "Lists, sets and removes quotas of users, client ids and addresses.", (LIST, SET, UNSET))
