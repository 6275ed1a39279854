"""How the brokers of a cluster run: on threads of this program, or in processes of their own."""

from typing import Literal

__all__ = ["Mode", "mode_of"]

Mode = Literal["thread", "process"]


def mode_of(mode: Mode | None, zookeeper: str | None) -> Mode:
    """The mode in force. Raises ValueError when a real ZooKeeper was asked for brokers on threads."""
    if mode not in (None, "thread", "process"):
        raise ValueError(f"the mode of a cluster is 'thread' or 'process', not {mode!r}")
    if mode == "thread" and zookeeper is not None:
        raise ValueError("brokers on threads need the metadata store of this program: give no `zookeeper`")
    return mode or ("thread" if zookeeper is None else "process")
