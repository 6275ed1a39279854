"""The parts of a command of the form ``pybroker NOUN VERB``."""

import argparse
from collections.abc import Callable, Sequence

from ..base.command_parser import CommandParser
from ..base.frozen import frozen
from ..client.admin_cluster import AdminCluster
from .output.output import Output

__all__ = ["Call", "LazyVerb", "Noun", "Program", "Verb"]


@frozen
class Call:
    """One run of a verb: the cluster, the arguments, and where its output goes."""

    cluster: AdminCluster
    options: argparse.Namespace
    output: Output


@frozen
class Verb:
    """A verb.

    Attributes:
        summary: one line for the help.
        arguments: adds the verb's own arguments to its parser.
        run: does the work, returns the exit code. It raises CommandError, KafkaError, ConnectionError, TimeoutError.
        changes: whether it changes something, so that it takes ``--dry-run``.
        row: the view that ``-o json`` prints an array of; None: the verb prints something else.
        other_rows: the views of other actions of the verb.
        prints_itself: whether it has forms of its own, so that it does not take ``-o``.
    """

    name: str
    summary: str
    arguments: Callable[[CommandParser], None]
    run: Callable[[Call], int]
    changes: bool = False
    row: type | None = None
    other_rows: tuple[type, ...] = ()
    prints_itself: bool = False

    @property
    def rows(self) -> tuple[type, ...]:
        """All views that it prints as JSON."""
        return self.other_rows if self.row is None else (self.row, *self.other_rows)


@frozen
class Program:
    """A verb that needs no cluster: it reads its arguments itself, and returns the exit code."""

    name: str
    summary: str
    run: Callable[[Sequence[str]], int]


@frozen
class LazyVerb:
    """A verb that is imported when it is used, so that it does not slow the other verbs of its noun down."""

    name: str
    load: Callable[[], Verb]


@frozen
class Noun:
    """A noun with its verbs. A noun without verbs, such as ``consume``, has one verb whose name is empty."""

    name: str
    summary: str
    members: tuple[Verb | LazyVerb, ...]
    programs: tuple[Program, ...] = ()

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """All verbs."""
        return tuple(map(_loaded, self.members))

    @property
    def verb_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.members)

    def verb(self, name: str) -> Verb | None:
        """The verb of this name; None: there is none."""
        return next((_loaded(each) for each in self.members if each.name == name), None)


def _loaded(verb: Verb | LazyVerb) -> Verb:
    return verb.load() if isinstance(verb, LazyVerb) else verb
