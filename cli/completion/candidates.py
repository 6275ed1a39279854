"""Finds the words that can stand at the end of a command line, by the parsers of the commands."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...base.command_parser import CommandParser, parser_of
from ...base.frozen import frozen
from ..command import verb_parser
from ..nouns import NOUNS
from ..verb import Noun

__all__ = ["Wanted", "candidates"]


@frozen
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
Commands = Mapping[str, Callable[[Sequence[str]], object]]
"""Commands beside the nouns, by name; each parses the arguments that it is called with before it does anything. The
name of the command without a name is empty."""
_BREAKS = frozenset("=:")
"""Characters at which bash splits words."""


def candidates(words: Sequence[str], commands: Commands, find: Find) -> list[str]:
    """The words that begin with the last of ``words``, or what bash puts in place of the last part of that word."""
    joined, kept = _joined(words)
    partial = joined[-1] if joined else ""
    found = _possible(joined[:-1], partial, commands, find)
    return [word[len(kept) :] for word in found if word.startswith(partial)]


def _joined(words: Sequence[str]) -> tuple[list[str], str]:
    """The words with those joined that bash split, and the part of the last one that bash keeps."""
    joined: list[str] = []
    kept, is_open = "", False
    for word in words:
        is_break = bool(word) and _BREAKS.issuperset(word)
        if joined and (is_break or is_open):
            kept = joined[-1] + word if is_break else joined[-1]
            joined[-1] += word
        else:
            kept = ""
            joined.append(word)
        is_open = is_break
    return joined, kept


def _possible(before: Sequence[str], partial: str, commands: Commands, find: Find) -> Iterable[str]:
    first = before[0] if before else ""
    if not before and not partial.startswith("-"):
        return sorted(name for name in {*NOUNS, *commands} if name)
    if first in NOUNS:
        return _of_noun(NOUNS[first].load(), before[1:], partial, find)
    if first.startswith("-"):
        first, before = "", ("", *before)
    parser = parser_of(commands[first], before[1:]) if first in commands else None
    return () if parser is None else _of_parser(parser, "", before[1:], partial, find)


def _of_noun(noun: Noun, before: Sequence[str], partial: str, find: Find) -> Iterable[str]:
    verb, rest = noun.verb(""), before
    if verb is None:
        if not before:
            return ["--help"] if partial.startswith("-") else noun.verb_names
        verb, rest = noun.verb(before[0]), before[1:]
    return () if verb is None else _of_parser(verb_parser(noun, verb), noun.name, rest, partial, find)


def _of_parser(parser: CommandParser, noun: str, before: Sequence[str], partial: str, find: Find) -> Iterable[str]:
    option, places = _read(parser, before)
    if option is None and partial.startswith("--") and "=" in partial:
        name = partial.partition("=")[0]
        action = _options_of(parser).get(name)
        if action is None or action.nargs == 0:
            return ()
        return [f"{name}={value}" for value in _values(action, noun, places, before, find)]
    if option is None and partial.startswith("-"):
        return sorted(name for name in _options_of(parser) if name.startswith("--"))
    action = option or _positional(parser, len(places))
    return () if action is None else _values(action, noun, places, before, find)


def _values(
    action: argparse.Action, noun: str, places: Sequence[str], before: Sequence[str], find: Find
) -> Iterable[str]:
    """The values that an argument may have, as far as they are known."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    kind = _kind(noun, metavar, is_option=bool(action.option_strings))
    found = find(Wanted(kind, places[0] if places else "", before)) if kind else ()
    return [f"{name}=" for name in found] if metavar == "NAME=VALUE" else found


def _options_of(parser: CommandParser) -> dict[str, argparse.Action]:
    """The options that the help shows."""
    return {
        name: action for action in parser._actions if action.help != argparse.SUPPRESS for name in action.option_strings
    }


def _read(parser: CommandParser, before: Sequence[str]) -> tuple[argparse.Action | None, list[str]]:
    """The option whose value comes next, and the positional arguments so far."""
    options = _options_of(parser)
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
    actions = [each for each in parser._actions if not each.option_strings and each.help != argparse.SUPPRESS]
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
