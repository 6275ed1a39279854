"""The options that say for how long a group is watched, and how long a rebalance may take."""

import argparse

from ...base.command_parser import CommandParser

__all__ = ["add_patience_option", "add_watch_option"]

_LONGEST_S = 3600


def add_watch_option(parser: CommandParser, default_s: float) -> None:
    """Add ``--for`` to the parser of a verb."""
    parser.add_argument(
        "--for",
        dest="watch",
        metavar="SECONDS",
        type=_seconds,
        default=default_s,
        help="for how long to watch a group that has lag or rebalances (%(default)g)",
    )


def add_patience_option(parser: CommandParser) -> None:
    """Add ``--stuck-after`` to the parser of a verb."""
    parser.add_argument(
        "--stuck-after",
        metavar="SECONDS",
        type=_seconds,
        default=5.0,
        help="a rebalance that takes longer is trouble (%(default)g)",
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be from 0 to {_LONGEST_S}")
    return seconds
