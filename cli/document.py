"""Writes the pages about commands: ``python -m pybroker.cli.document docs/user``.

``commands.md`` is the reference, made from the parsers. ``commands.schema.json`` has the JSON schemas of what the
commands print with ``-o json``. ``doctor.md`` has the checks of ``pybroker doctor``.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ..base.command_parser import CommandParser
from ..views.schema import Schemas
from .command import add_output_options, verb_parser
from .connecting.connection_options import add_connection_options
from .connecting.profiles import PROFILES_EXAMPLE
from .doctor.checks import CHECKS
from .exit_codes import EXIT_CODES
from .kafka_scripts.scripts import SCRIPTS
from .nouns import NOUNS
from .verb import Noun, Verb

__all__ = ["COMMANDS_PAGE", "DOCTOR_PAGE", "SCHEMA_FILE", "commands_page", "doctor_page", "schema_text", "write_pages"]

COMMANDS_PAGE, SCHEMA_FILE, DOCTOR_PAGE = "commands.md", "commands.schema.json", "doctor.md"
_DOCTOR_INTRODUCTION = """\
# Checks of pybroker doctor

This page is written by `python -m pybroker.cli.document docs/user`.

```console
$ pybroker doctor -b kafka.example.org:9092
```

The command asks any Kafka cluster as a client does, with the client's own settings (`-X`, `--command-config`,
`--profile`). It changes nothing. Each check is `ok`, `warn`, `FAIL` with a remedy, or `skipped` when the cluster did
not tell what the check needs. The exit code is 10 when a check fails.

| number | check | why |
|---|---|---|
"""
_INTRODUCTION = """\
# Commands for any Kafka cluster

This page is written by `python -m pybroker.cli.document docs/user`.

These commands speak Kafka's protocol, so they work with pybroker and with Apache Kafka from 2.1 on. Data goes to
standard output, words and progress to standard error. The rows that `-o json` prints are described in
[commands.schema.json](commands.schema.json). Commands that change something take `--dry-run`.

```console
$ export PYBROKER_BOOTSTRAP=localhost:9092
$ source <(pybroker completion bash)                    # or zsh, fish: Tab completes commands, and names in the cluster
$ pybroker topics create demo -p 3
$ pybroker topics list
```

`pybroker --help` has the options of a broker, such as `--test-kit`. `pybroker cluster 3 --help` has those of a cluster
of new brokers on this machine.
"""
_PROFILES_TEXT = f"""
## Profiles

`--profile NAME` reads the table `[NAME]` of `~/.config/pybroker/profiles.toml` (`$XDG_CONFIG_HOME/pybroker/` if that is
set): settings of clients by Kafka's names, texts in quotes. `-X`, `--command-config` and `-b` come before it.

```toml
{PROFILES_EXAMPLE.rstrip()}
```

```console
$ pybroker topics list --profile prod
```
"""
_SCRIPTS_TEXT = """\
These commands take the options of the scripts of Apache Kafka 3.9.1, print the same text, and need no Java:
{names}, and `kafka-dump-log`, which reads the files of a broker.
[container.md](../operator/container.md#kafkas-scripts) has the differences.

```console
$ pybroker kafka-topics --bootstrap-server localhost:9092 --list
```
"""


def commands_page() -> str:
    """The text of ``docs/user/commands.md``."""
    shared = CommandParser("pybroker")
    add_output_options(shared)
    add_connection_options(shared)
    parts = [_INTRODUCTION, "## Options of every command\n", *_table(shared, set()), _PROFILES_TEXT.rstrip()]
    parts += ["", "## Exit codes\n", "| code | meaning |", "|---:|---|"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    known = {tuple(action.option_strings) for action in shared._actions}
    for noun in (lazy.load() for lazy in NOUNS.values()):
        parts += ["", f"## pybroker {noun.name}\n", noun.summary]
        for verb in noun.verbs:
            parts += _verb(noun, verb, known)
    names = ", ".join(f"`{name}`" for name in SCRIPTS)
    parts += ["", "## Scripts with Kafka's names\n", _SCRIPTS_TEXT.format(names=names)]
    return "\n".join(parts)


def _verb(noun: Noun, verb: Verb, known: set[tuple[str, ...]]) -> Iterator[str]:
    """The part of a verb. ``known``: the options that the page describes once for all."""
    parser = verb_parser(noun, verb)
    if verb.name:
        yield f"\n### {parser.prog}\n"
        yield f"{verb.summary[0].upper()}{verb.summary[1:]}.{_printed(verb)}"
    elif verb.rows:
        yield _printed(verb).strip()
    yield ""
    yield from _table(parser, known)


def _printed(verb: Verb) -> str:
    if not verb.rows:
        return ""
    option = "--format json" if verb.prints_itself else "-o json"
    return f" `{option}` prints an array of {' or '.join(f'`{row.__name__}`' for row in verb.rows)}."


def _table(parser: CommandParser, known: set[tuple[str, ...]]) -> Iterator[str]:
    actions = [
        action for action in parser._actions if action.dest != "help" and tuple(action.option_strings) not in known
    ]
    if not actions:
        return
    yield "| argument | meaning |"
    yield "|---|---|"
    for action in actions:
        meaning = re.sub(r"([*|<])", r"\\\1", (action.help or "") % vars(action))
        shown = _shown(action).replace("|", r"\|")  # in a table it separates columns, even within code
        yield f"| `{shown}` | {meaning} |"


def _shown(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest
    if not action.option_strings:
        return f"{metavar}..." if action.nargs in ("*", "+") else metavar
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {metavar}"


def schema_text() -> str:
    """The text of ``docs/user/commands.schema.json``: the shape of a row, by its name."""
    schemas = Schemas()
    for noun in (lazy.load() for lazy in NOUNS.values()):
        for verb in noun.verbs:
            for row in verb.rows:
                schemas.reference(row)
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "Rows that commands of pybroker print with -o json (consume: --format json), by name.",
        "components": {"schemas": schemas.named},
    }
    return json.dumps(document, indent=1) + "\n"


def doctor_page() -> str:
    """The text of ``docs/user/doctor.md``."""
    return _DOCTOR_INTRODUCTION + "".join(f"| {each.number} | {each.title} | {each.about} |\n" for each in CHECKS)


def write_pages(directory: Path) -> None:
    """Write the files."""
    (directory / COMMANDS_PAGE).write_text(commands_page(), encoding="utf-8")
    (directory / DOCTOR_PAGE).write_text(doctor_page(), encoding="utf-8")
    (directory / SCHEMA_FILE).write_text(schema_text(), encoding="ascii")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
