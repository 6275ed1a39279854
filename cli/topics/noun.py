"""The verbs of ``pybroker topics``. Each is imported when it is used."""

from ..verb import LazyVerb, Noun, Verb

__all__ = ["TOPICS"]


def _list() -> Verb:
    from .list_topics import LIST

    return LIST


def _describe() -> Verb:
    from .describe_topics import DESCRIBE

    return DESCRIBE


def _offsets() -> Verb:
    from .offsets_of_topics import OFFSETS

    return OFFSETS


def _create() -> Verb:
    from .create_topics import CREATE

    return CREATE


def _copy() -> Verb:
    from .copy_topic import COPY

    return COPY


def _alter() -> Verb:
    from .alter_topics import ALTER

    return ALTER


def _grow() -> Verb:
    from .grow_topics import GROW

    return GROW


def _truncate() -> Verb:
    from .delete_records import TRUNCATE

    return TRUNCATE


def _empty() -> Verb:
    from .delete_records import EMPTY

    return EMPTY


def _delete() -> Verb:
    from .delete_topics import DELETE

    return DELETE


TOPICS = Noun(
    "topics",
    "Lists, creates, changes and deletes topics.",
    (
        LazyVerb("list", _list),
        LazyVerb("describe", _describe),
        LazyVerb("offsets", _offsets),
        LazyVerb("create", _create),
        LazyVerb("copy", _copy),
        LazyVerb("alter", _alter),
        LazyVerb("grow", _grow),
        LazyVerb("truncate", _truncate),
        LazyVerb("empty", _empty),
        LazyVerb("delete", _delete),
    ),
)
