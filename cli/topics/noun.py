"""The verbs of ``pybroker topics``."""

from ..verb import Noun
from .alter_topics import ALTER
from .copy_topic import COPY
from .create_topics import CREATE
from .delete_records import EMPTY, TRUNCATE
from .delete_topics import DELETE
from .describe_topics import DESCRIBE
from .grow_topics import GROW
from .list_topics import LIST
from .offsets_of_topics import OFFSETS

__all__ = ["TOPICS"]

TOPICS = Noun(
    "topics",
    "Lists, creates, changes and deletes topics.",
    (LIST, DESCRIBE, OFFSETS, CREATE, COPY, ALTER, GROW, TRUNCATE, EMPTY, DELETE),
)
