"""The verbs of ``pybroker bench``."""

from ..verb import Noun
from .consume_bench import CONSUME
from .produce_bench import PRODUCE

__all__ = ["BENCH"]

BENCH = Noun("bench", "Measures how fast a cluster takes and gives records.", (PRODUCE, CONSUME))
