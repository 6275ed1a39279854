"""The verbs of ``pybroker groups``. Each is imported when it is used."""

from ..verb import LazyVerb, Noun, Verb

__all__ = ["GROUPS"]


def _list() -> Verb:
    from .list_groups import LIST

    return LIST


def _describe() -> Verb:
    from .describe_groups import DESCRIBE

    return DESCRIBE


def _lag() -> Verb:
    from .lag import LAG

    return LAG


def _reset() -> Verb:
    from .reset_offsets import RESET

    return RESET


def _export() -> Verb:
    from .export_offsets import EXPORT

    return EXPORT


def _import() -> Verb:
    from .reset_offsets import IMPORT

    return IMPORT


def _delete() -> Verb:
    from .delete_groups import DELETE

    return DELETE


def _kick() -> Verb:
    from .kick_member import KICK

    return KICK


def _timeline() -> Verb:
    from .timeline import TIMELINE

    return TIMELINE


GROUPS = Noun(
    "groups",
    "Shows groups with their offsets and lag, and changes them.",
    (
        LazyVerb("list", _list),
        LazyVerb("describe", _describe),
        LazyVerb("lag", _lag),
        LazyVerb("reset", _reset),
        LazyVerb("export", _export),
        LazyVerb("import", _import),
        LazyVerb("delete", _delete),
        LazyVerb("kick", _kick),
        LazyVerb("timeline", _timeline),
    ),
)
