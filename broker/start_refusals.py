"""The errors that end a start for a reason outside the program, each with the operator's way out."""

import os

from ..config.config import Config
from ..config.config_error import ConfigError
from ..controller.broker_registration import BrokerIdTakenError
from ..controller.features import GROUP_VERSION, SHARE_VERSION
from ..controller.level_check import UnsupportedLevelError
from ..controller.tree.metadata_store import (
    ConnectionLossError,
    MetadataStoreError,
    NoResourcesError,
    NotAuthorizedError,
    ServerNotTrustedError,
    SessionExpiredError,
    StoreCorruptError,
    StoreFullError,
    StoreLockedError,
    StorePathError,
    StoreUnreachableError,
    StoreVersionError,
)
from ..controller.tree.znodes import ZnodeDecodeError
from ..storage.files.files import DirectoryLockedError, Files
from ..storage.files.meta_properties import FILE_NAME as META_PROPERTIES
from ..storage.files.meta_properties import (
    KRaftDirectoryError,
    MetaPropertiesError,
    MixedDirectoriesError,
    OtherBrokerError,
    OtherClusterError,
)
from ..storage.store.log_directories import LogDirectoriesError, NoLogDirectoryError
from .network.bound_sockets import (
    AddressInUseError,
    AddressNotLocalError,
    BindError,
    PortForbiddenError,
    UnknownHostError,
)
from .start_error import StartError

__all__ = ["START_ERRORS", "start_refusal"]

START_ERRORS = (
    BindError,
    BrokerIdTakenError,
    ConfigError,
    DirectoryLockedError,
    LogDirectoriesError,
    MetaPropertiesError,
    MetadataStoreError,
    UnsupportedLevelError,
    ZnodeDecodeError,
)


def start_refusal(error: Exception, config: Config, files: Files) -> StartError:
    """The error for the user: what ``error``, one of `START_ERRORS`, says, and what to do."""
    way_out = _way_out(error, config, files)
    if way_out is None:
        return StartError(str(error))
    return StartError(f"{error}, {way_out}" if way_out.startswith("or ") else f"{error}; {way_out}")


def _way_out(error: Exception, config: Config, files: Files) -> str | None:
    """None when the text of the error names it; with "or " in front when the text names another one."""
    match error:
        case BindError():
            return _other_address(error, config.named(error.setting))
        case MetaPropertiesError() | LogDirectoriesError() | DirectoryLockedError():
            return _other_directory(error, config)
        case BrokerIdTakenError():
            return f"stop that broker, or change {config.named('broker.id')}"
        case UnsupportedLevelError():
            return _other_level(error.feature, config.named("group.coordinator.rebalance.protocols"))
        case ZnodeDecodeError():
            return f"this node of the metadata in {_store(config)} is damaged: correct it, or restore a backup"
        case MetadataStoreError() if config.uses_embedded_store:
            return _other_store(error, config.named("metadata.store.path"))
        case MetadataStoreError():
            return _other_zookeeper(error, config, files)
    return None


def _other_address(error: BindError, listeners: str) -> str:
    match error:
        case AddressInUseError():
            return f"stop what listens there, or change {listeners}"
        case AddressNotLocalError():
            return (
                f"name an address of this machine in {listeners}, or none for all its addresses; the address for "
                "clients belongs in advertised.listeners"
            )
        case PortForbiddenError():
            return (
                f"name a port above 1023 in {listeners}, or give the broker the capability CAP_NET_BIND_SERVICE "
                f"(uid {os.geteuid()})"
            )
        case UnknownHostError():
            return f"correct the name in {listeners}, or make it known to this machine (DNS, /etc/hosts)"
    return f"change {listeners}"


def _other_directory(error: Exception, config: Config) -> str | None:
    log_dirs = config.log_dirs_named
    match error:
        case OtherBrokerError():
            return f"set {config.named('broker.id')} to the id there, or change {log_dirs}"
        case OtherClusterError() if config.uses_embedded_store:
            store = config.named("metadata.store.path")
            return f"set {store} to the store of cluster {error.cluster_id}, or {log_dirs} to another directory"
        case OtherClusterError():
            return f"correct {config.named('zookeeper.connect')}, or set {log_dirs} to another directory"
        case KRaftDirectoryError():
            return f"set {log_dirs} to another directory"
        case MixedDirectoriesError():
            return f"name only the directories of one broker in {log_dirs}"
        case NoLogDirectoryError():
            return (
                f"or set {log_dirs} to directories that this user (uid {os.geteuid()}) may write, on disks with free "
                "space"
            )
        case DirectoryLockedError():
            return f"stop that broker, or change {log_dirs}"
    return None


def _other_level(feature: str, protocols: str) -> str:
    """``protocols``: the name of ``group.coordinator.rebalance.protocols``, as the user gave it."""
    of_feature = {GROUP_VERSION: f"add consumer to {protocols}", SHARE_VERSION: f"add share to {protocols}"}
    way = of_feature.get(feature, "start a newer pybroker")
    return f"{way}, or lower the level: pybroker cluster features {feature}=0"


def _other_store(error: MetadataStoreError, setting: str) -> str | None:
    """``setting``: the name of ``metadata.store.path``, as the user gave it."""
    match error:
        case StorePathError():
            return f"or change {setting}"
        case StoreLockedError():
            return f"stop that process, or set {setting} to another file"
        case StoreFullError():
            return f"free some space, or set {setting} to a file on another disk"
        case StoreVersionError():
            return "start the pybroker that wrote it"
        case StoreCorruptError():
            return "restore the file from a backup"
    return f"check the disk of the file, or change {setting}"


def _other_zookeeper(error: MetadataStoreError, config: Config, files: Files) -> str:
    connect = config.named("zookeeper.connect")
    match error:
        case NotAuthorizedError():
            digest, keystore = map(config.named, ("pybroker.zookeeper.digest", "zookeeper.ssl.keystore.location"))
            return f"check {digest}, or the certificate of {keystore}"
        case NoResourcesError():
            return "raise the limits of the process on open files and threads (ulimit -n, ulimit -u)"
        case ServerNotTrustedError():
            truststore = config.named("zookeeper.ssl.truststore.location")
            return f"add the authority of its certificate to {truststore}, or correct {connect}"
        case StoreUnreachableError() if error.was_reached:
            tls = config.named("zookeeper.ssl.client.enable")
            what = f"check that it is a ZooKeeper with a quorum, that {connect} names its port for clients, and {tls}"
        case StoreUnreachableError():
            what = f"start ZooKeeper there, or correct {connect}"
        case SessionExpiredError() | ConnectionLossError():
            return f"start the broker again; if that happens often, check ZooKeeper and the network to it ({connect})"
        case _:
            return f"check the metadata in ZooKeeper ({connect})"
    if any(files.exists(os.path.join(directory, META_PROPERTIES)) for directory in config.log_dirs):
        return what
    return f"{what}. A single broker needs no ZooKeeper: remove zookeeper.connect to run without it"


def _store(config: Config) -> str:
    return config.metadata_place if config.uses_embedded_store else config.named("zookeeper.connect")
