"""The errors that end a start for a reason outside the program, each with the operator's way out."""

import os

from ..config.config import Config
from ..config.config_error import ConfigError
from ..controller.broker_registration import BrokerIdTakenError
from ..controller.tree.metadata_store import (
    MetadataStoreError,
    NotAuthorizedError,
    StoreCorruptError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
    StoreVersionError,
)
from ..controller.tree.znodes import ZnodeDecodeError
from ..storage.files.files import DirectoryLockedError, Files
from ..storage.files.meta_properties import FILE_NAME as META_PROPERTIES
from ..storage.files.meta_properties import MetaPropertiesError, OtherBrokerError
from ..storage.store.log_directories import LogDirectoriesError
from .network.bound_sockets import BindError
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
    ZnodeDecodeError,
)


def start_refusal(error: Exception, config: Config, files: Files) -> StartError:
    """The error for the user: what ``error``, one of `START_ERRORS`, says, and what to do."""
    way_out = _way_out(error, config, files)
    return StartError(f"{error}; {way_out}" if way_out else str(error))


def _way_out(error: Exception, config: Config, files: Files) -> str | None:
    """None when the text of the error names it."""
    store = config.named("metadata.store.path")
    match error:
        case BindError():
            return f"stop what listens there, or change {config.named('listeners')}"
        case OtherBrokerError():
            return f"set {config.named('broker.id')} to the id there, or change {_log_dirs(config)}"
        case BrokerIdTakenError():
            return f"stop that broker, or change {config.named('broker.id')}"
        case DirectoryLockedError():
            return f"stop that broker, or change {_log_dirs(config)}"
        case StoreUnreachableError():
            return _without_zookeeper(config, files)
        case NotAuthorizedError():
            digest, keystore = map(config.named, ("pybroker.zookeeper.digest", "zookeeper.ssl.keystore.location"))
            return f"check {digest}, or the certificate of {keystore}"
        case StoreLockedError():
            return f"stop that process, or set {store} to another file"
        case StoreFullError():
            return f"free some space, or set {store} to a file on another disk"
        case StoreVersionError():
            return "start the pybroker that wrote it"
        case StoreCorruptError():
            return "restore the file from a backup"
        case ZnodeDecodeError():
            return f"this node of the metadata in {_store(config)} is damaged: correct it, or restore a backup"
    return None


def _without_zookeeper(config: Config, files: Files) -> str:
    connect = config.named("zookeeper.connect")
    if any(files.exists(os.path.join(directory, META_PROPERTIES)) for directory in config.log_dirs):
        return f"start ZooKeeper there, or correct {connect}"
    return (
        f"start ZooKeeper there, or correct {connect}. A single broker needs no ZooKeeper: remove zookeeper.connect to "
        "run without it"
    )


def _store(config: Config) -> str:
    return str(config.metadata_store_path) if config.uses_embedded_store else config.named("zookeeper.connect")


def _log_dirs(config: Config) -> str:
    return config.named("log.dirs" if config.is_given("log.dirs") else "log.dir")
