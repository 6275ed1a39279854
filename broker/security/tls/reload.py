"""Rules for new stores of a listener while the broker runs (KIP-226): what may change, and whether anything did.

Kafka does not watch files. When a setting of the listener is altered, it reads the stores again if a setting or a
file's time differs. New connections use the new stores, and open ones go on.
"""

import os
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ....base.key_stores.certificates import Certificate, read_certificate
from ....base.key_stores.store import KeyPair
from ....config.typed_values import TypedValues
from .context import Material
from .distinguished_names import distinguished_name

__all__ = ["FileStamp", "file_stamps", "refused_changes"]

_LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location")


FileStamp: TypeAlias = tuple[int, int, int]
"""Time, size and inode of a file: another stamp means that the file was written or replaced."""


def file_stamps(values: TypedValues) -> Mapping[str, FileStamp | None]:
    """The stamps of the listener's stores that are files, by the settings' names; None for a file that is missing."""
    return {name: _stamp(path) for name in _LOCATIONS if (path := values.optional_string(name)) is not None}


def _stamp(path: str) -> FileStamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def refused_changes(old: Material, new: Material, *, allow_dn_changes: bool, allow_san_changes: bool) -> Iterator[str]:
    """A line for each reason why ``new`` must not replace ``old``; none: it may.

    ``allow_dn_changes``, ``allow_san_changes``: the settings ``ssl.allow.dn.changes`` and ``ssl.allow.san.changes``.
    """
    if bool(old.keys) != bool(new.keys):
        yield "a key store can be replaced while the broker runs, not added or removed"
    elif not (allow_dn_changes and allow_san_changes) and len(old.keys) != len(new.keys):
        yield f"the key store has {len(new.keys)} keys in place of {len(old.keys)}"
    else:
        for before, after in zip(map(_certificate, old.keys), map(_certificate, new.keys), strict=False):
            if not allow_dn_changes and _comparable_name(before) != _comparable_name(after):
                yield (
                    f"the certificate is for {distinguished_name(after.subject)} in place of "
                    f"{distinguished_name(before.subject)}, and ssl.allow.dn.changes is false"
                )
            if not allow_san_changes and not before.alternative_names <= after.alternative_names:
                yield "the certificate lacks alternative names of the old one, and ssl.allow.san.changes is false"
    if old.trusted is None and new.trusted is not None:
        yield "a trust store can be replaced while the broker runs, not added"


def _certificate(pair: KeyPair) -> Certificate:
    return read_certificate(pair.chain[0])


def _comparable_name(certificate: Certificate) -> str:
    """Java compares names without regard to case and to the number of blanks."""
    return " ".join(distinguished_name(certificate.subject).lower().split())
