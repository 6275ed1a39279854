"""The arguments of ``pybroker explain acl`` that ask whether a user may do something."""

import argparse

from ...base.acl_rules.question import (
    OPTIONS_OF_TYPES,
    RESOURCE_FORMS,
    AclQuestion,
    QuestionError,
    read_question,
    read_resource,
)
from ...base.acls import CLUSTER_NAME, AclResourceType
from ...base.command_parser import BAD_INPUT, CommandError, CommandParser

__all__ = ["add_question_options", "question_in"]


def add_question_options(parser: CommandParser) -> None:
    """Add the arguments to a parser. Each part of the question may also be given as an option."""
    add = parser.add_argument
    # SUPPRESS: an absent argument leaves the value of the option alone.
    add("user", metavar="USER", nargs="?", default=argparse.SUPPRESS, help="as alice or User:alice")
    add("operation", metavar="OPERATION", nargs="?", default=argparse.SUPPRESS, help="as read or describe-configs")
    add("resource", metavar="RESOURCE", nargs="?", help=RESOURCE_FORMS)
    add("--user", metavar="NAME", help="the same as USER")
    add("--host", metavar="ADDRESS", default="127.0.0.1", help="where it comes from (%(default)s)")
    add("--operation", metavar="NAME", help="the same as OPERATION")
    resources = parser.add_mutually_exclusive_group()
    for resource_type, option in OPTIONS_OF_TYPES.items():
        if resource_type is not AclResourceType.CLUSTER:
            resources.add_argument(f"--{option}", metavar="NAME", help="the resource")
    resources.add_argument("--cluster", action="store_const", const=CLUSTER_NAME, help="the cluster is the resource")


def question_in(options: argparse.Namespace) -> AclQuestion:
    """The question that the arguments ask. Raises CommandError."""
    try:
        for part in ("user", "operation"):
            if getattr(options, part) is None:
                raise QuestionError(f"{part.upper()} is missing")
        return read_question(options.user, options.host, options.operation, *_resource_in(options))
    except QuestionError as error:
        raise CommandError(f"{error} (see pybroker explain acl --help)", BAD_INPUT) from None


def _resource_in(options: argparse.Namespace) -> tuple[AclResourceType, str]:
    given = {kind: getattr(options, option.replace("-", "_")) for kind, option in OPTIONS_OF_TYPES.items()}
    named = [(kind, name) for kind, name in given.items() if name is not None]
    if options.resource is not None:
        named.append(read_resource(options.resource))
    if len(named) != 1:
        raise QuestionError("RESOURCE is missing" if not named else "give one resource")
    return named[0]
