"""The verbs of ``pybroker configs``."""

from ..verb import Noun
from .change_settings import SET, UNSET
from .diff_settings import DIFF
from .get_settings import GET

__all__ = ["CONFIGS"]

CONFIGS = Noun(
    "configs", "Shows, changes and compares settings of topics, brokers and groups.", (GET, SET, UNSET, DIFF)
)
