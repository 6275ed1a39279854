"""Detects a lost embedded metadata store at the start of a broker.

Why: a new, empty store would hide that the metadata of the cluster, and with it all its topics, is gone. It would also
give the log directories of a cluster with ZooKeeper to a new cluster.
Limits: a store in another log directory is named but not used, because it may be an old copy. The operator decides.
"""

import glob
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...config.config import METADATA_STORE_FILE, Config
from ...storage.files.files import Files
from ...storage.files.meta_properties import MetaProperties
from ...storage.store.log_directories import peek_meta_properties
from ...storage.store.log_directory import has_partitions
from ..start_error import StartError

__all__ = ["EarlierUse", "find_earlier_use", "missing_store"]


class EarlierUse(NamedTuple):
    """The use of the log directories by a broker before this start, as far as they show it.

    `owner`: with the embedded store, whose metadata it must hold, in words for `missing_store`; None for a new broker.
    """

    broker_id: int | None
    has_cluster_id: bool
    owner: str | None


def find_earlier_use(files: Files, config: Config) -> EarlierUse:
    """Look into the log directories. Raises MetaPropertiesError, StartError when the embedded store is missing."""
    stored = peek_meta_properties(files, config)
    owner = None
    if config.uses_embedded_store:
        owner = _owner(files, config, stored)
        if _is_missing(config.metadata_store_path) and (owner is not None or _stores_elsewhere(config)):
            raise missing_store(config, "missing", owner)
    if stored is None:
        return EarlierUse(None, False, owner)
    return EarlierUse(stored.broker_id, stored.cluster_id is not None, owner)


def _owner(files: Files, config: Config, stored: MetaProperties | None) -> str | None:
    """Kafka before 2.4 wrote no cluster id into `meta.properties`."""
    if stored is not None and stored.cluster_id is not None:
        return f"cluster {stored.cluster_id}"
    if stored is not None and stored.broker_id is not None:
        return f"the cluster of broker {stored.broker_id}"
    for directory in config.log_dirs:
        with suppress(OSError):  # a failed disk does not end the start
            if has_partitions(files, directory):
                return f"the partitions in {directory}"
    return None


def missing_store(config: Config, what: str, owner: str | None) -> StartError:
    """The error for the embedded store, which is `what` ("missing" or "empty"). It names the way out."""
    path = config.metadata_store_path
    subject = f"{path} is {what}, but should hold the metadata of {owner or 'a cluster'}"
    elsewhere = _stores_elsewhere(config)
    if elsewhere and config.is_given("metadata.store.path"):
        setting = config.named("metadata.store.path")
        return StartError(f"{subject}: is its disk mounted? {_offer_of_old(elsewhere, setting)}")
    if elsewhere:
        found = " and ".join(map(str, elsewhere))
        if len(elsewhere) > 1:
            return StartError(
                f"{subject}; found {found}: put the directory of the current store first in {config.log_dirs_named}, "
                "or set metadata.store.path to the current store"
            )
        return StartError(
            f"{subject}; found {found}: put {elsewhere[0].parent} first in {config.log_dirs_named}, or set "
            f"metadata.store.path={elsewhere[0]}"
        )
    copied = sorted(glob.glob(f"{glob.escape(str(path))}.copied*"))
    if copied:
        return StartError(
            f"{subject}; pybroker metadata copy moved that to another place, and {copied[-1]} is the old state: set"
            f" zookeeper.connect or {config.log_dirs_named} to the new place"
        )
    return StartError(
        f"{subject}: is its disk mounted? Restore the file from a backup. If the broker used ZooKeeper until now, set"
        " zookeeper.connect, or fetch the metadata by pybroker metadata copy. To start a new cluster, set"
        f" {config.log_dirs_named} to new directories"
    )


def _offer_of_old(stores: list[Path], setting: str) -> str:
    """The sentence about stores that may have stayed behind when the store was moved to ``metadata.store.path``."""
    found = " and ".join(map(str, stores))
    if len(stores) == 1:
        return f"Found {found}, which may be an old copy: only if it is the current store, set {setting} to it"
    return f"Found {found}, which may be old copies: only if one is the current store, set {setting} to it"


def _is_missing(path: Path) -> bool:
    """Whether `path` does not exist. Other errors are left to the store."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def _stores_elsewhere(config: Config) -> list[Path]:
    """The embedded stores in log directories, except the configured one."""
    found = [Path(os.path.abspath(directory)) / METADATA_STORE_FILE for directory in config.log_dirs]
    configured = config.metadata_store_path.absolute()
    return [path for path in dict.fromkeys(found) if path != configured and _has_content(path)]


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:  # no file, or a failed disk
        return False
