"""Detects a lost embedded metadata store at the start of a broker.

Why: a new, empty store would hide that the metadata of the cluster, and with it all its topics, is gone.
"""

import os
from pathlib import Path

from ...config.config import Config
from ..start_error import StartError

__all__ = ["is_missing", "lost_store"]


def is_missing(path: Path) -> bool:
    """Whether ``path`` does not exist. Other errors are left to the store."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def lost_store(path: Path, what: str, cluster: str, config: Config) -> StartError:
    """The error for the store at ``path``, which is ``what`` ("missing" or "empty")."""
    directories = ", ".join(os.path.abspath(directory) for directory in config.log_dirs)
    return StartError(
        f"{path} is {what}, but held the metadata of cluster {cluster}: restore it, or remove {directories} to start"
        " a new cluster"
    )
