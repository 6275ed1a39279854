"""The verbs of ``pybroker acls``."""

from ..verb import Noun
from .change_rules import ADD, REMOVE
from .check_rights import CHECK
from .list_rules import LIST

__all__ = ["ACLS"]

ACLS = Noun("acls", "Lists, adds, removes and checks access rules.", (LIST, ADD, REMOVE, CHECK))
