"""The parts of an X.509 certificate that the broker looks at: names, and the end of its validity (RFC 5280)."""

import calendar
import re
from typing import NamedTuple

from .der import BOOLEAN, CONTEXT, OCTET_STRING, OID, SEQUENCE, Der, DerError, children, oid_text, only

__all__ = ["AlternativeName", "Certificate", "end_of_validity", "read_certificate"]

_SUBJECT_ALTERNATIVE_NAME = "2.5.29.17"
_EXTENSIONS = CONTEXT + 3
_UTC_TIME = 0x17
_GENERALIZED_TIME = 0x18
_TIME = re.compile(rb"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z", re.ASCII)
_FIRST_YEAR_OF_1900 = 50


class AlternativeName(NamedTuple):
    """``kind`` is the tag of the GeneralName without its class: 2 is a DNS name, 7 an address."""

    kind: int
    value: bytes


class Certificate(NamedTuple):
    """``issuer`` and ``subject`` are names in DER, see `distinguished_names`; ``encoded`` is the whole certificate."""

    issuer: bytes
    subject: bytes
    alternative_names: frozenset[AlternativeName]
    encoded: bytes


def read_certificate(encoded: bytes) -> Certificate:
    """Read a certificate in DER.

    Raises:
        DerError: it is no certificate.
    """
    parts = _parts(encoded)
    extensions = next((part for part in parts[6:] if part.tag == _EXTENSIONS), None)
    names = frozenset[AlternativeName]() if extensions is None else _alternative_names(extensions)
    return Certificate(parts[2].encoded, parts[4].encoded, names, encoded)


def end_of_validity(encoded: bytes) -> int:
    """The last second in which a certificate in DER is valid, in Unix time. Raises DerError."""
    times = list(children(only(_parts(encoded)[3].encoded, SEQUENCE).content))
    if len(times) != 2:
        raise DerError("the validity of a certificate is malformed")
    tag, text = times[1].tag, times[1].content
    if tag == _UTC_TIME:
        text = (b"19" if text[:2] >= b"%d" % _FIRST_YEAR_OF_1900 else b"20") + text
    found = _TIME.fullmatch(text)
    if tag not in (_UTC_TIME, _GENERALIZED_TIME) or found is None:
        raise DerError("the validity of a certificate is malformed")
    try:
        return calendar.timegm(tuple(map(int, found.groups())))
    except ValueError:
        raise DerError("the validity of a certificate has a date that does not exist") from None


def _parts(encoded: bytes) -> list[Der]:
    """Serial number, algorithm, issuer, validity, subject, key, and more."""
    body = next(children(only(encoded, SEQUENCE).content), None)
    if body is None:
        raise DerError("a certificate is empty")
    parts = list(children(body.content))
    if parts and parts[0].tag == CONTEXT:  # the version, which may be missing
        del parts[0]
    if len(parts) < 6:
        raise DerError("a certificate ends too early")
    return parts


def _alternative_names(extensions: Der) -> frozenset[AlternativeName]:
    for extension in children(only(extensions.content, SEQUENCE).content):
        parts = [part for part in children(extension.content) if part.tag != BOOLEAN]
        if len(parts) != 2 or parts[0].tag != OID or parts[1].tag != OCTET_STRING:
            raise DerError("an extension of a certificate is malformed")
        if oid_text(parts[0].content) == _SUBJECT_ALTERNATIVE_NAME:
            names = children(only(parts[1].content, SEQUENCE).content)
            return frozenset(AlternativeName(name.tag & 0x1F, name.content) for name in names)
    return frozenset()
