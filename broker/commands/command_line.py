"""The command ``pybroker``: runs a broker, or the subcommand that its first argument names.

Exit codes: 0 after a clean stop. 1 when the broker could not start for a reason outside the settings (an address, a
directory or a file that it cannot use), or had to stop. 2 for bad arguments or settings.
For 1 and 2 one line on standard error says what is wrong.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...base.command_parser import BAD_INPUT, FAILED, CommandError
from ...base.frozen import frozen
from ...cli.gentle_interrupt import TerminatedError, ended_by_sigterm
from ...cli.kafka_scripts.scripts import SCRIPTS
from ...cli.nouns import NOUNS
from ...cli.output.standard_output import OutputError, guarded_output
from ...config.config_error import ConfigError
from ..start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...cli.verb import Program
    from ..process.run_broker import Serve

_STOPPED, _INTERRUPTED, _TERMINATED = 0, 130, 143


@frozen
class _Command:
    """A subcommand.

    Attributes:
        summary: one line for the help.
        run: takes the arguments after the subcommand's name, returns the exit code; raises CommandError, ConfigError.
    """

    summary: str
    run: Callable[[Sequence[str]], int]


def _certificates(arguments: Sequence[str]) -> int:
    from .certificates_command import certificates_command

    return certificates_command(arguments)


def _completion(arguments: Sequence[str]) -> int:
    from ...cli.completion.scripts import completion_command

    return completion_command(arguments)


def _complete(words: Sequence[str]) -> int:
    """Print the words that a shell may put in place of the last word."""
    from ...cli.completion.candidates import candidates
    from ...cli.completion.live_names import live_names

    commands = {name: command.run for name, command in _COMMANDS.items()}
    commands[""] = _serve
    sys.stdout.write("".join(f"{word}\n" for word in candidates(words, commands, live_names)))
    return _STOPPED


def _console(arguments: Sequence[str]) -> int:
    from ...console.command import console_command

    return console_command(arguments)


def _container(arguments: Sequence[str]) -> int:
    from .container.container_command import container_command

    return container_command(arguments)


def _dump_log(arguments: Sequence[str]) -> int:
    from .log.kafka_dump_log import kafka_dump_log

    return kafka_dump_log(arguments)


def _explain_acl(arguments: Sequence[str]) -> int:
    from .explain.explain_command import explain_command

    return explain_command(["acl", *arguments])


def _run_cluster(brokers: str, arguments: Sequence[str]) -> int:
    from .cluster_command import cluster_command

    return cluster_command([brokers, *arguments])


def _healthcheck(arguments: Sequence[str]) -> int:
    from .healthcheck import healthcheck

    return healthcheck(arguments)


def _init(arguments: Sequence[str]) -> int:
    from .init.init_command import init_command

    return init_command(arguments)


def _log(arguments: Sequence[str]) -> int:
    from .log.log_command import log_command

    return log_command(arguments)


def _metadata(arguments: Sequence[str]) -> int:
    from .metadata.metadata_command import metadata_command

    return metadata_command(arguments)


def _user(arguments: Sequence[str]) -> int:
    from .users.user_command import user_command

    return user_command(arguments)


_COMPLETE = "__complete"
"""The command that the shells' scripts call; no help shows it."""

# Each subcommand imports its code when it runs.
_COMMANDS: Mapping[str, _Command] = {
    "certificates": _Command("make certificates for brokers, to try TLS with", _certificates),
    "completion": _Command("print a script that completes commands and names in bash, zsh or fish", _completion),
    "console": _Command("show a cluster in the browser", _console),
    "container": _Command("run a broker in a container, with settings from KAFKA_* environment variables", _container),
    "healthcheck": _Command("check that a broker answers; the exit code tells", _healthcheck),
    "init": _Command("write the compose file of a cluster in containers, and the files that it needs", _init),
    "log": _Command("print, check or summarise the files in log directories", _log),
    "metadata": _Command("copy a cluster's metadata between the embedded store and ZooKeeper", _metadata),
    "user": _Command("make the first SCRAM user, in a stopped broker's files or in ZooKeeper; later: users", _user),
}


KAFKA_SCRIPTS: Mapping[str, Callable[[Sequence[str]], int]] = {**SCRIPTS, "kafka-dump-log": _dump_log}
"""The scripts with Kafka's names. One of them reads the files of a broker, so it is no script for any cluster."""


def main(argv: Sequence[str] | None = None, *, run: Serve | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        argv: the arguments without the command's name; None: the arguments of the process.
        run: runs a broker until it is told to stop; None: `broker_process.run`.
    """
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return _run(arguments, run)
    except CommandError as error:
        return _fail(error, error.exit_code)
    except ConfigError as error:
        return _fail(error, BAD_INPUT)
    except StartError as error:
        return _fail(error, FAILED)
    except OutputError as error:
        return _STOPPED if error.is_reader_gone else _fail(error, FAILED)
    except KeyboardInterrupt as asked:
        return _TERMINATED if isinstance(asked, TerminatedError) else _INTERRUPTED
    except SystemExit as leave:  # argparse exits this way after --help and --version
        return leave.code if isinstance(leave.code, int) else _STOPPED


def _run(arguments: Sequence[str], run: Serve | None) -> int:
    name = arguments[0] if arguments else ""
    if name in NOUNS:
        with guarded_output(), ended_by_sigterm():
            return _run_noun(name, arguments[1:])
    if name in KAFKA_SCRIPTS:
        with guarded_output(), ended_by_sigterm():
            return KAFKA_SCRIPTS[name](arguments[1:])
    if name == _COMPLETE:
        return _complete(arguments[1:])
    if name in _COMMANDS:
        return _COMMANDS[name].run(arguments[1:])
    return _serve(arguments, run)


def _serve(arguments: Sequence[str], run: Serve | None = None) -> int:
    from .serve_command import serve_command

    summaries = {name: noun.summary for name, noun in NOUNS.items()}
    summaries |= {name: command.summary for name, command in _COMMANDS.items()}
    return serve_command(arguments, summaries, run, list(KAFKA_SCRIPTS))


def _run_noun(name: str, arguments: Sequence[str]) -> int:
    gc.disable()  # the imports leave no garbage, and looking for some takes a part of their time
    from ...cli.command import run_noun

    noun = NOUNS[name].load()
    if arguments:
        noun.verb(arguments[0])  # imports it, if it is not imported yet
    gc.freeze()
    gc.enable()
    return run_noun(replace(noun, programs=_programs_of(name, arguments)), arguments)


def _programs_of(noun: str, arguments: Sequence[str]) -> tuple[Program, ...]:
    """The verbs of a noun that are no command for any cluster: ``cluster N`` runs one of its own, and ``explain acl
    --config`` reads the files and the metadata of a broker."""
    from ...cli.verb import Program

    if noun == "cluster":
        number = arguments[0] if arguments and arguments[0].isdecimal() else "N"
        return (Program(number, "run N brokers on this machine, to try things out", partial(_run_cluster, number)),)
    if noun != "explain" or not any(argument.startswith("--config") for argument in arguments):
        return ()
    return (Program("acl", "say whether a user may do something, and which rule decides", _explain_acl),)


def _fail(error: Exception, code: int) -> int:
    from .failure import tell_failure  # slow to import

    tell_failure(error)
    return code
