"""Reads and writes `meta.properties`, which names the broker and the cluster of a log directory (version 0).

Version 0 belongs to ZooKeeper mode; KRaft directories have version 1.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ...base.frozen import frozen
from .files import Files

FILE_NAME = "meta.properties"
_REWRITTEN = "correct it, or delete it: the start writes it again"


class MetaPropertiesError(Exception):
    """The log directories cannot be used. The message is one line for the operator."""


class KRaftDirectoryError(MetaPropertiesError):
    """A log directory belongs to a node in KRaft mode."""


class MixedDirectoriesError(MetaPropertiesError):
    """The log directories belong to different brokers or clusters."""


class OtherBrokerError(MetaPropertiesError):
    """A log directory belongs to another broker."""


class OtherClusterError(MetaPropertiesError):
    """A log directory belongs to another cluster, `cluster_id`."""

    def __init__(self, text: str, cluster_id: str) -> None:
        super().__init__(text)
        self.cluster_id = cluster_id


@frozen
class MetaProperties:
    """The contents of the file. A `directory_id` (KIP-858) is kept."""

    broker_id: int | None
    cluster_id: str | None
    directory_id: str | None = None


def read_meta_properties(files: Files, directory: str) -> MetaProperties | None:
    """The file of one log directory; None when there is none. Raises MetaPropertiesError, OSError."""
    path = os.path.join(directory, FILE_NAME)
    try:
        text = files.read_bytes(path).decode("latin-1")
    except FileNotFoundError:
        return None
    properties = _parse(text)
    version = properties.get("version")
    if version is None:
        raise MetaPropertiesError(f"{path} is corrupt: it has no version; {_REWRITTEN}")
    if version != "0":
        raise KRaftDirectoryError(
            f"{path} has version {version}: a log directory of KRaft mode cannot be used, only version 0"
        )
    try:
        broker_id = int(properties["broker.id"]) if "broker.id" in properties else None
        if broker_id is not None and not 0 <= broker_id < 1 << 31:
            raise ValueError(broker_id)
    except ValueError:
        raise MetaPropertiesError(f"{path} is corrupt: broker.id={properties['broker.id']}; {_REWRITTEN}") from None
    return MetaProperties(broker_id, properties.get("cluster.id") or None, properties.get("directory.id"))


def agree(found: Mapping[str, MetaProperties | None]) -> MetaProperties | None:
    """The properties that all directories of one broker share; None when all are new. Raises MetaPropertiesError."""
    known = {directory: meta for directory, meta in found.items() if meta is not None}
    for name in ("broker_id", "cluster_id"):
        values = {
            directory: getattr(meta, name) for directory, meta in known.items() if getattr(meta, name) is not None
        }
        if len(set(values.values())) > 1:
            listed = ", ".join(f"{value} in {directory}" for directory, value in values.items())
            raise MixedDirectoriesError(
                f"the log directories do not belong together: {name.replace('_', '.')} is {listed}"
            )
    if not known:
        return None
    broker_ids = [meta.broker_id for meta in known.values() if meta.broker_id is not None]
    cluster_ids = [meta.cluster_id for meta in known.values() if meta.cluster_id is not None]
    return MetaProperties(broker_ids[0] if broker_ids else None, cluster_ids[0] if cluster_ids else None)


def check_meta_properties(
    files: Files, directories: Sequence[str], broker_id: int, cluster_id: str, metadata_store: str | None = None
) -> list[str]:
    """Refuse directories of another broker or cluster; return the directories whose file has to be written.

    `metadata_store` is the file of the embedded store, None with ZooKeeper. Raises MetaPropertiesError.
    """
    missing = []
    for directory in directories:
        found = read_meta_properties(files, directory)
        path = os.path.join(directory, FILE_NAME)
        if found is not None and found.broker_id not in (None, broker_id):
            raise OtherBrokerError(f"{path} is of broker {found.broker_id}, this is broker {broker_id}")
        if found is not None and found.cluster_id is not None and found.cluster_id != cluster_id:
            raise OtherClusterError(
                _other_cluster(path, found.cluster_id, cluster_id, metadata_store), found.cluster_id
            )
        if found is None or found.broker_id is None or found.cluster_id is None:
            missing.append(directory)
    return missing


def _other_cluster(path: str, found: str, cluster_id: str, metadata_store: str | None) -> str:
    if metadata_store is None:
        return f"{path} is of cluster {found}, this broker joined {cluster_id}"
    return f"{path} is of cluster {found}, but the metadata store {metadata_store} is of cluster {cluster_id}"


def write_meta_properties(files: Files, directory: str, meta: MetaProperties) -> None:
    """Replace the file of one log directory."""
    lines = ["#", f"broker.id={meta.broker_id}", "version=0", f"cluster.id={meta.cluster_id}"]
    if meta.directory_id is not None:
        lines.append(f"directory.id={meta.directory_id}")
    files.write_atomically(os.path.join(directory, FILE_NAME), ("\n".join(lines) + "\n").encode("latin-1"))


def _parse(text: str) -> dict[str, str]:
    """Parses comments, `name=value` and backslash escapes of Java's properties format."""
    properties = {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            name, _, value = stripped.partition("=")
            properties[name.strip()] = value.strip().replace("\\", "")
    return properties
