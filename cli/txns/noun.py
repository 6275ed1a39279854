"""The verbs of ``pybroker txns``."""

from ..verb import Noun
from .abort_transaction import ABORT
from .show_transactions import DESCRIBE, HANGING, LIST

__all__ = ["TXNS"]

TXNS = Noun("txns", "Lists, describes and aborts transactions.", (LIST, DESCRIBE, HANGING, ABORT))
