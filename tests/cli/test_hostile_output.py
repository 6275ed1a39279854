"""No verb of any noun prints a control character that a cluster, or an argument, brought."""

import io
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from pybroker.base.command_parser import BAD_INPUT
from pybroker.broker.commands.command_line import main
from pybroker.cli.command import verb_parser
from pybroker.cli.nouns import NOUNS
from pybroker.cli.output.output import FORMS
from pybroker.cli.verb import Noun, Verb
from support.clients.lying_broker import lying_broker, lying_pages

HOSTILE = "a\x1b[31mb\r\nc\td\x07e\x9b2J\u202ef\u2066g\u200b\U0001f4a9\u754ch"
HOSTILE += "\x1b]0;owned\x07" + "w" * (249 - len(HOSTILE) - 10)
"""249 characters: ANSI escapes of 7 and 8 bits, newlines, a bell, overrides of the direction, wide ones, an emoji."""
INVALID_REQUEST = 42
RUNS = {noun_name: noun.load() for noun_name, noun in NOUNS.items()}
VERBS = [(noun, verb) for noun in RUNS.values() for verb in noun.verbs]
# The values of arguments that verbs need, by the word with which their help names it.
VALUES = {
    "BROKER": "0",
    "FEATURE=LEVEL": f"{HOSTILE}=1",
    "FILE": "{file}",
    "GROUP": HOSTILE,
    "ID": HOSTILE,
    "MEMBER": HOSTILE,
    "N": "3",
    "NAME": HOSTILE,
    "NEW": HOSTILE,
    "NAME=VALUE": f"{HOSTILE}={HOSTILE}",
    "OFFSET": "1",
    "OFFSET|TIME": "1",
    "OPERATION": "read",
    "PARTITION": "0",
    "PATTERN": "*",
    "RESOURCE": f"topic/{HOSTILE}",
    "TOPIC": HOSTILE,
    "TOPIC|FILE": HOSTILE,
    "TOPIC:PARTITION": f"{HOSTILE}:0",
    "TOPIC[:PARTITIONS]": HOSTILE,
    "TOPIC[:P[-P]]": f"{HOSTILE}:0",
    "USER": HOSTILE,
    "WHERE": "earliest",
}
# Options beside those that a verb needs.
OPTIONS = {
    "acls add": ["--allow", HOSTILE, "--read", "--topic", HOSTILE],
    "acls remove": ["--topic", HOSTILE],
    "configs diff": [f"topic/{HOSTILE}"],
    "explain acl": [f"User:{HOSTILE}", "read", f"topic/{HOSTILE}"],
    "quotas set": ["--user", HOSTILE, "--consume", "1MB"],
    "quotas unset": ["--user", HOSTILE],
    "topics alter": ["-c", f"{HOSTILE}={HOSTILE}"],
    "topics copy": ["--configs-only"],
    "bench produce": ["--records", "1"],
    "consume": ["--until", "end", "-n", "1", "-f", "%k %v %h\n"],
    "produce": ["--file", "{file}"],
    "users add": ["--password-file", "{file}"],
}
RETRIES_FOR_A_MINUTE = ("bench", "consume", "produce")
"""Nouns that wait until brokers without leaders, or with errors, are well again."""


class Stream(io.TextIOWrapper):
    """Standard output as on a terminal, or standard error without one, so that no bar is drawn."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", newline="")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


@pytest.fixture(scope="module")
def liars() -> Iterator[list[str]]:
    """Brokers that say yes to everything, and that refuse most requests."""
    with lying_broker(HOSTILE) as yes, lying_broker(HOSTILE, INVALID_REQUEST) as no:
        yield [yes, no]


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with lying_pages(HOSTILE) as url:
        yield url


def arguments_of(noun: Noun, verb: Verb, file: Path, pages: str) -> list[str]:
    """Arguments that let a verb do its work. A new verb gets what its parser asks for."""
    parser = verb_parser(noun, verb)
    given = OPTIONS.get(f"{noun.name} {verb.name}".strip(), [])
    words = [noun.name, verb.name] if verb.name else [noun.name]
    for action in parser._actions:
        is_needed = action.required or (not action.option_strings and action.nargs != "?")
        if is_needed and action.choices is not None:
            words.append(str(next(iter(action.choices))))
            continue
        if is_needed:
            value = VALUES[str(action.metavar)].format(file=file)
            words += [action.option_strings[0], value] if action.option_strings else [value]
        for chosen in (["--yes"], ["--for", "0"], ["--v1", pages]):
            if chosen[0] in action.option_strings:
                words += chosen
    return [*words, *(each.format(file=file) for each in given), "--timeout", "0.5"]


@pytest.mark.parametrize(("noun", "verb"), VERBS, ids=[f"{noun.name} {verb.name}".strip() for noun, verb in VERBS])
def test_no_verb_prints_a_control_character(
    noun: Noun, verb: Verb, liars: list[str], pages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "given"
    file.write_text("orders,0,1\n" if noun.name == "groups" else HOSTILE)
    words = arguments_of(noun, verb, file, pages)
    servers = liars[:1] if noun.name in RETRIES_FOR_A_MINUTE else liars
    for address, form in product(servers, [()] if verb.prints_itself else [("-o", form) for form in FORMS]):
        out, err = Stream(is_terminal=True), Stream(is_terminal=False)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        code = main([*words, "-b", address, *form])
        monkeypatch.undo()
        for text in (out.text(), err.text()):
            assert all(line.isprintable() for line in text.split("\n")), text
        assert address != liars[0] or code != BAD_INPUT, f"give the verb what it needs, in OPTIONS: {err.text()}"
