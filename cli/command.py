"""Runs ``pybroker NOUN VERB``: reads the arguments, opens the cluster, and turns errors into lines and exit codes."""

import argparse
import sys
from collections.abc import Sequence
from textwrap import wrap

from ..base.command_parser import BAD_INPUT, CommandError, CommandParser
from ..client.admin_cluster import AdminCluster
from .connecting.connection_options import add_connection_options, client_settings
from .exit_codes import DONE, EXIT_CODES, refusal
from .output.output import FORMS, Output
from .suggestions import did_you_mean
from .verb import Call, Noun, Program, Verb

__all__ = ["add_output_options", "run_noun", "verb_parser"]

_EXIT_CODES = "\n".join(
    wrap("exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()), 88)
)


def run_noun(noun: Noun, arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError."""
    for program in noun.programs:
        if arguments and arguments[0] == program.name:
            return program.run(arguments[1:])
    verb, rest = _chosen(noun, arguments)
    if verb is None:
        sys.stdout.write(_noun_help(noun))
        return DONE
    options = _parsed(verb_parser(noun, verb), rest)
    output = Output(options.output, sys.stdout, sys.stderr, is_quiet=options.quiet)
    settings = client_settings(options, tell=output.say)
    try:
        with AdminCluster(settings, round(options.timeout * 1000)) as cluster:
            code = verb.run(Call(cluster, options, output))
    except Exception as error:
        refused = refusal(error)
        if refused is None:
            raise
        raise refused from error
    return code


def _parsed(parser: CommandParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options. Raises CommandError, with a suggestion for an option that does not exist."""
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        known = parser._option_string_actions
        near = did_you_mean(unknown[0].partition("=")[0], list(known)) if unknown[0].startswith("--") else ""
        if unknown[0] == "--json" and "-o" in known:
            near = "; did you mean -o json?"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
    return options


def verb_parser(noun: Noun, verb: Verb) -> CommandParser:
    """The parser of a verb, with the options that every verb has."""
    words = f"pybroker {noun.name} {verb.name}".rstrip()
    parser = CommandParser(words, f"{verb.summary[0].upper()}{verb.summary[1:]}.", epilog=_EXIT_CODES)
    verb.arguments(parser)
    if verb.changes:
        parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
    add_output_options(parser, has_forms=not verb.prints_itself)
    add_connection_options(parser)
    return parser


def add_output_options(parser: CommandParser, *, has_forms: bool = True) -> None:
    """Add the options of what is printed, and how. Without forms there is no ``-o``."""
    group = parser.add_argument_group("output")
    parser.set_defaults(output=FORMS[0])
    if has_forms:
        group.add_argument("-o", "--output", metavar="FORM", choices=FORMS, help=f"{', '.join(FORMS)} (%(default)s)")
    group.add_argument("-q", "--quiet", action="store_true", help="no words on standard error")
    group.add_argument("--no-color", action="store_true", help="taken without effect, because nothing is coloured")


def _chosen(noun: Noun, arguments: Sequence[str]) -> tuple[Verb | None, Sequence[str]]:
    """The verb and its arguments; no verb if help is wanted. Raises CommandError."""
    if (only := noun.verb("")) is not None:
        return only, arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        return None, ()
    if (verb := noun.verb(arguments[0])) is not None:
        return verb, arguments[1:]
    raise CommandError(
        f"{noun.name} {arguments[0]}: unknown command{did_you_mean(arguments[0], _names(noun))} "
        f"(see pybroker {noun.name} --help)",
        BAD_INPUT,
    )


def _noun_help(noun: Noun) -> str:
    parser = CommandParser(f"pybroker {noun.name}", noun.summary, usage=f"pybroker {noun.name} COMMAND [options]")
    width = max(map(len, _names(noun)))
    lines = [f"  {each.name.ljust(width)}  {each.summary}" for each in _all_verbs(noun)]
    parser.epilog = "\n".join(["commands (see each with --help):", *lines, "", _EXIT_CODES])
    return argparse.ArgumentParser.format_help(parser)


def _all_verbs(noun: Noun) -> list[Verb | Program]:
    return [*noun.verbs, *(program for program in noun.programs if program.name not in noun.verb_names)]


def _names(noun: Noun) -> list[str]:
    return [each.name for each in _all_verbs(noun)]
