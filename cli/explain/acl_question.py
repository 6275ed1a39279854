"""The options of ``pybroker explain acl`` that ask whether a user may do something."""

import argparse

from ...base.acl_rules.question import OPTIONS_OF_TYPES, AclQuestion, QuestionError, read_question
from ...base.acls import CLUSTER_NAME, AclResourceType
from ...base.command_parser import BAD_INPUT, CommandError, CommandParser

__all__ = ["add_question_options", "question_in"]


def add_question_options(parser: CommandParser) -> None:
    """Add the options to a parser."""
    parser.add_argument("--user", metavar="NAME", required=True, help="the user, as alice or User:alice")
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="where it comes from (%(default)s)")
    parser.add_argument("--operation", metavar="NAME", required=True, help="as Read, Write or DescribeConfigs")
    resources = parser.add_mutually_exclusive_group(required=True)
    for resource_type, option in OPTIONS_OF_TYPES.items():
        if resource_type is not AclResourceType.CLUSTER:
            resources.add_argument(f"--{option}", metavar="NAME", help="the resource")
    resources.add_argument("--cluster", action="store_const", const=CLUSTER_NAME, help="the cluster is the resource")


def question_in(options: argparse.Namespace) -> AclQuestion:
    """The question that the options ask. Raises CommandError."""
    given = {kind: getattr(options, option.replace("-", "_")) for kind, option in OPTIONS_OF_TYPES.items()}
    ((resource_type, name),) = ((kind, name) for kind, name in given.items() if name is not None)
    try:
        return read_question(options.user, options.host, options.operation, resource_type, name)
    except QuestionError as error:
        raise CommandError(f"{error} (see pybroker explain acl --help)", BAD_INPUT) from None
