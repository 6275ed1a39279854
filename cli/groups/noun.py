"""The verbs of ``pybroker groups``."""

from ..verb import Noun
from .delete_groups import DELETE
from .describe_groups import DESCRIBE
from .export_offsets import EXPORT
from .kick_member import KICK
from .lag import LAG
from .list_groups import LIST
from .reset_offsets import IMPORT, RESET
from .timeline import TIMELINE

__all__ = ["GROUPS"]

GROUPS = Noun(
    "groups",
    "Shows groups with their offsets and lag, and changes them.",
    (LIST, DESCRIBE, LAG, RESET, EXPORT, IMPORT, DELETE, KICK, TIMELINE),
)
