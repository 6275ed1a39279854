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
from ..storage.files.meta_properties import MetaPropertiesError
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
    match error:
        case BindError():
            return f"stop what listens there, or change {_named(config, 'listeners')}"
        case DirectoryLockedError():
            return f"stop that broker, or change {_log_dirs(config)}"
        case StoreUnreachableError():
            return _without_zookeeper(config, files)
        case NotAuthorizedError():
            return "check pybroker.zookeeper.digest, or the certificate of zookeeper.ssl.keystore.location"
        case StoreLockedError():
            return "stop that process, or set metadata.store.path to another file"
        case StoreFullError():
            return "free some space, or set metadata.store.path to a file on another disk"
        case StoreVersionError():
            return "start the pybroker that wrote it"
        case StoreCorruptError():
            return "restore the file from a backup"
        case ZnodeDecodeError():
            return f"this node of the metadata in {_store(config)} is damaged: correct it, or restore a backup"
    return None


def _without_zookeeper(config: Config, files: Files) -> str:
    connect = _named(config, "zookeeper.connect")
    if any(files.exists(os.path.join(directory, META_PROPERTIES)) for directory in config.log_dirs):
        return f"start ZooKeeper there, or correct {connect}"
    return (
        f"start ZooKeeper there, or correct {connect}. A single broker needs no ZooKeeper: remove zookeeper.connect to "
        "run without it"
    )


def _store(config: Config) -> str:
    return str(config.metadata_store_path) if config.uses_embedded_store else _named(config, "zookeeper.connect")


def _log_dirs(config: Config) -> str:
    return _named(config, "log.dirs" if config.is_given("log.dirs") else "log.dir")


def _named(config: Config, name: str) -> str:
    """The setting, with the place where it was given."""
    return f"{name} ({config.given[name].place})" if config.is_given(name) else name
