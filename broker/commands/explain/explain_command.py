"""``pybroker explain acl``: says whether a user may do an operation, and which rule decides.

It reads the ACLs from the metadata store: ZooKeeper, or the embedded store of a broker that is stopped.
"""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ....base.acl_rules.acl_index import AclIndex
from ....base.acl_rules.authorizer import WITHOUT_AUTHORIZER, AclAuthorizer, Explanation
from ....base.acl_rules.question import AclQuestion
from ....base.acls import AclEntry, ResourcePattern
from ....base.command_parser import BAD_INPUT, CommandError, CommandParser
from ....cli.exit_codes import NOT_ALLOWED
from ....cli.explain.acl_question import add_question_options, question_in
from ....config.authorization import AuthorizationSettings
from ....config.config import Config
from ....config.load import load_config
from ....controller.acl_tree import AclTree
from ....controller.tree.embedded_store import EmbeddedStore
from ....controller.tree.metadata_store import MetadataStore, MetadataStoreError
from ....controller.tree.znodes import ZnodeDecodeError
from ....controller.tree.zookeeper_settings import ZooKeeperSettings
from ....controller.tree.zookeeper_store import ZooKeeperStore
from ..given_settings import environment_settings

__all__ = ["explain", "explain_command", "question_of"]

_DESCRIPTION = "Says whether a user may do an operation with a resource, and which rule decides."
_EPILOG = """\
example:
  pybroker explain acl --config server.properties alice read topic/orders

With -b HOST:PORT it asks a cluster for its ACLs instead.

exit codes: 0 allowed; 4 denied; 1 failed; 2 bad arguments or settings"""


def explain_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, ConfigError."""
    config_file, question = question_of(arguments)
    config = load_config(config_file or "", environment_settings())
    settings = AuthorizationSettings.from_config(config)
    if settings is None:
        return _answer(WITHOUT_AUTHORIZER)

    async def ask() -> Explanation:
        store = await _open_store(config)
        try:
            return await explain(store, settings, question)
        finally:
            await store.close()

    try:
        explanation = asyncio.run(ask())
    except (MetadataStoreError, ZnodeDecodeError) as error:
        raise CommandError(f"ACLs cannot be read: {error}") from error
    return _answer(explanation)


async def _open_store(config: Config) -> MetadataStore:
    if not config.uses_embedded_store:
        return await ZooKeeperStore.open(replace(ZooKeeperSettings.from_config(config), is_guarded=False))
    path = config.metadata_store_path
    if not path.exists():  # it would be created
        raise CommandError(f"{path}: there is no embedded store", BAD_INPUT)
    return await EmbeddedStore.open(path, lambda: time.time_ns() // 1_000_000)


def _answer(explanation: Explanation) -> int:
    sys.stdout.write(f"{explanation}\n")
    return 0 if explanation.is_allowed else NOT_ALLOWED


async def explain(store: MetadataStore, settings: AuthorizationSettings, question: AclQuestion) -> Explanation:
    """The verdict by the ACLs in the store. Raises MetadataStoreError, ZnodeDecodeError."""
    found = await AclTree(store, _no_wait).read_all()
    acls: Mapping[ResourcePattern, frozenset[AclEntry]] = {
        pattern: entries for pattern, entries in found.items() if not isinstance(entries, ZnodeDecodeError)
    }
    for error in found.values():
        if isinstance(error, ZnodeDecodeError):
            raise error
    authorizer = AclAuthorizer(AclIndex(acls), settings.super_users, allow_everyone=settings.allow_everyone)
    return authorizer.explain(*question)


async def _no_wait() -> None:
    """Only writers wait."""


def question_of(arguments: Sequence[str]) -> tuple[Path | None, AclQuestion]:
    """The file of settings and the question. Raises CommandError."""
    if not arguments or arguments[0] not in ("acl", "-h", "--help"):
        wrong = f"{arguments[0]}: unknown subject" if arguments else "a subject is missing"
        raise CommandError(f"{wrong}; subjects: acl (see pybroker explain acl --help)", BAD_INPUT)
    parser = CommandParser("pybroker explain acl", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings file of a broker")
    add_question_options(parser)
    options = parser.parse_args(arguments[1:] if arguments[0] == "acl" else ["--help"])
    return options.config, question_in(options)
