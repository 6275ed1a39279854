"""Finds the words that can stand at the end of a command line, by the parsers of the commands."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...base.command_parser import CommandParser
from ..command import verb_parser
from ..nouns import NOUNS
from ..verb import Noun, Verb
from .scripts import SCRIPTS_BY_SHELL

__all__ = ["Wanted", "candidates"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Names in a cluster that are wanted.

    Attributes:
        kind: TOPIC, GROUP, RESOURCE or NAME (of a setting), as the parsers call arguments.
        resource: the resource whose settings are wanted.
        words: the words of the verb so far, among which are the options of the cluster.
    """

    kind: str
    resource: str
    words: Sequence[str]


Find = Callable[[Wanted], Iterable[str]]
"""Finds names in the cluster."""


def candidates(words: Sequence[str], commands: Iterable[str], find: Find) -> list[str]:
    """The words that begin with the last of ``words``. ``commands``: the first words that are known."""
    partial = words[-1] if words else ""
    return [word for word in _possible(words[:-1], partial, commands, find) if word.startswith(partial)]


def _possible(before: Sequence[str], partial: str, commands: Iterable[str], find: Find) -> Iterable[str]:
    if not before:
        return sorted(commands)
    if before[0] == "completion":
        return SCRIPTS_BY_SHELL if len(before) == 1 else ()
    if before[0] not in NOUNS:
        return ()
    noun = NOUNS[before[0]].load()
    verbs = {verb.name: verb for verb in noun.verbs}
    if "" in verbs:
        return _of_verb(noun, verbs[""], before[1:], partial, find)
    if len(before) == 1:
        return ["--help"] if partial.startswith("-") else list(verbs)
    return _of_verb(noun, verbs[before[1]], before[2:], partial, find) if before[1] in verbs else ()


def _of_verb(noun: Noun, verb: Verb, before: Sequence[str], partial: str, find: Find) -> Iterable[str]:
    parser = verb_parser(noun, verb)
    option, places = _read(parser, before)
    if option is None and partial.startswith("-"):
        return sorted(name for each in parser._actions for name in each.option_strings if name.startswith("--"))
    action = option or _positional(parser, len(places))
    if action is None:
        return ()
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    kind = _kind(noun.name, metavar, is_option=option is not None)
    found = find(Wanted(kind, places[0] if places else "", before)) if kind else ()
    return [f"{name}=" for name in found] if metavar == "NAME=VALUE" else found


def _read(parser: CommandParser, before: Sequence[str]) -> tuple[argparse.Action | None, list[str]]:
    """The option whose value comes next, and the positional arguments so far."""
    options = {name: action for action in parser._actions for name in action.option_strings}
    waiting: argparse.Action | None = None
    places = []
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-") and len(word) > 1:
            action = options.get(word)
            waiting = action if action is not None and action.nargs != 0 else None
        else:
            places.append(word)
    return waiting, places


def _positional(parser: CommandParser, index: int) -> argparse.Action | None:
    """The positional argument at this index; the last may be repeated."""
    actions = [action for action in parser._actions if not action.option_strings]
    if index < len(actions):
        return actions[index]
    return actions[-1] if actions and actions[-1].nargs in ("*", "+") else None


def _kind(noun: str, metavar: str, *, is_option: bool) -> str:
    """The kind of names that an argument takes; empty if the cluster does not have them."""
    if metavar == "PATTERN" and not is_option:
        return {"topics": "TOPIC", "groups": "GROUP"}.get(noun, "")
    if metavar in ("NAME", "NAME=VALUE"):
        return "NAME" if noun == "configs" and not is_option else ""
    word = metavar.partition("[")[0].partition("|")[0].removesuffix("S")
    return word if word in ("TOPIC", "GROUP") else metavar if metavar == "RESOURCE" else ""
