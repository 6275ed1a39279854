"""The entities that have quotas, and the options that name them."""

import argparse
from collections.abc import Iterable, Mapping

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.printable import printable

__all__ = ["DEFAULT", "KEYS", "Entity", "add_entity_options", "entity_in", "entity_text"]

DEFAULT = "<default>"
"""Shown for the entity that stands for all without a quota of their own; its name is null on the wire."""
Entity = Mapping[str, str | None]
"""Names by type of entity: user, client-id, ip."""
KEYS = {
    "produce": "producer_byte_rate",
    "consume": "consumer_byte_rate",
    "request": "request_percentage",
    "mutations": "controller_mutation_rate",
    "connections": "connection_creation_rate",
}
"""Kafka's names of quotas by the words of options."""
_WORDS = {"user": "user", "client": "client-id", "ip": "ip"}


def add_entity_options(parser: CommandParser) -> None:
    """Add them to the parser of a verb."""
    group = parser.add_argument_group("whose quota")
    for word, kind in _WORDS.items():
        one = group.add_mutually_exclusive_group()
        one.add_argument(f"--{word}", metavar="NAME", help=f"the quota of this {kind}")
        one.add_argument(
            f"--{word}-default", action="store_true", help=f"the quota of each {kind} that has none of its own"
        )


def entity_in(options: argparse.Namespace) -> Entity:
    """The entity that the options name; empty: none. Raises CommandError."""
    entity: dict[str, str | None] = {}
    for word, kind in _WORDS.items():
        name = getattr(options, word)
        if name == "":
            raise CommandError(f"--{word}: the name is empty", BAD_INPUT)
        if name is not None or getattr(options, f"{word}_default"):
            entity[kind] = name
    if "ip" in entity and len(entity) > 1:
        raise CommandError("--ip goes with neither --user nor --client", BAD_INPUT)
    return entity


def entity_text(parts: Iterable[tuple[str, str | None]]) -> str:
    """The entity as people read it, such as "user alice, client-id x"."""
    return printable(", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in parts))
