"""The verbs of ``pybroker topics``."""

from ..verb import Noun
from .create_topics import CREATE
from .delete_topics import DELETE
from .describe_topics import DESCRIBE
from .list_topics import LIST

__all__ = ["TOPICS"]

TOPICS = Noun("topics", "Lists, creates, changes and deletes topics.", (LIST, DESCRIBE, CREATE, DELETE))
