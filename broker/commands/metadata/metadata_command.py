"""``pybroker metadata copy``: copies a cluster's metadata tree between the embedded store and ZooKeeper."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ....base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ....config.config import Config
from ....config.load import load_config
from ....controller.tree.metadata_store import MetadataStoreError
from ....controller.tree.tree_copy import TreeCopy
from ....controller.tree.znodes import ZnodeDecodeError
from ....storage.files.files import DirectoryLockedError
from ....storage.files.meta_properties import MetaPropertiesError
from ..given_settings import environment_settings
from .store_locations import store_location

__all__ = ["metadata_command"]

_DESCRIPTION = """\
Copies a cluster's metadata (topics with their ids, settings, the cluster id) from one place to another. A place is
a data directory with pybroker's embedded store, or ZooKeeper. Records and committed offsets stay in the data
directory. All brokers must be stopped."""

_EPILOG = """\
examples:
  pybroker metadata copy --from ./pybroker-data --to localhost:2181/kafka             from one broker to a cluster
  pybroker metadata copy --from localhost:2181/kafka --to ./pybroker-data --dry-run   what the way back would copy

exit codes: 0 copied, or a dry run found no obstacle; 1 refused or failed, and the message says whether anything was
changed; 2 bad arguments"""


def metadata_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError."""
    if not arguments or arguments[0] not in ("copy", "-h", "--help"):
        wrong = f"{arguments[0]}: unknown tool" if arguments else "a tool is missing"
        raise CommandError(f"{wrong}; tools: copy (see pybroker metadata copy --help)", BAD_INPUT)
    parser = CommandParser("pybroker metadata copy", _DESCRIPTION, epilog=_EPILOG)
    place = "a data directory, the file of an embedded store in it, or HOST:PORT[,HOST:PORT]...[/PATH]"
    parser.add_argument("--from", dest="source", metavar="PLACE", required=True, help=place)
    parser.add_argument("--to", dest="target", metavar="PLACE", required=True, help="as for --from; must be empty")
    parser.add_argument("--dry-run", action="store_true", help="print what would be copied, and change nothing")
    parser.add_argument("--config", metavar="FILE", type=Path, help="a broker's settings: TLS, digest, ACLs, timeouts")
    options = parser.parse_args(arguments[1:] if arguments[0] == "copy" else ["--help"])
    if options.source == options.target:
        parser.error(f"{options.source}: --from and --to must differ")
    config = load_config(options.config or "", environment_settings())
    try:
        return asyncio.run(_copy(options.source, options.target, config, is_dry=options.dry_run))
    except (DirectoryLockedError, MetaPropertiesError, MetadataStoreError, ZnodeDecodeError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CommandError(f"{where}{error.strerror or error}", FAILED) from error


async def _copy(source: str, target: str, config: Config, *, is_dry: bool) -> int:
    with ExitStack() as stack:
        source_location = store_location(source, config)
        stack.callback(source_location.release)
        target_location = store_location(target, config)
        stack.callback(target_location.release)
        tree = await source_location.read()
        await target_location.check_can_take(tree)
        for line in _summary(tree):
            sys.stdout.write(f"{line}\n")
        if is_dry:
            sys.stdout.write(f"would be copied from {source_location} to {target_location}\n")
            return 0
        await target_location.write(tree)
        sys.stdout.write(f"copied from {source_location} to {target_location}\n")
        for line in [*source_location.after_copy_from(), *target_location.after_copy_to(tree)]:
            sys.stdout.write(f"{line}\n")
    return 0


def _summary(tree: TreeCopy) -> list[str]:
    topics = tree.topics()
    partitions = sum(len(topic.partitions) for topic in topics)
    name = tree.cluster_id or "without an id (Kafka before 0.10.1)"
    lines = [
        f"cluster {name}: {len(topics)} topics with {partitions} partitions, settings of "
        f"{tree.configured('topics')} topics and {tree.configured('brokers')} brokers, {len(tree.nodes)} nodes in all"
    ]
    if tree.left_out:
        lines.append(f"left out, because these nodes belong to brokers that are down: {', '.join(tree.left_out)}")
    return lines
