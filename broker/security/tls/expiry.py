"""When the first certificate of a chain ends, and whether that is soon. The time is passed in."""

import time
from collections.abc import Iterable
from typing import NamedTuple

from ....base.key_stores.certificates import end_of_validity, read_certificate
from ....base.key_stores.der import DerError
from .distinguished_names import distinguished_name

__all__ = ["CertificateEnd", "first_end"]

_SOON_S = 30 * 86_400


class CertificateEnd(NamedTuple):
    """The certificate named ``subject`` is valid until ``at_s`` (Unix time, seconds)."""

    at_s: int
    subject: str

    @property
    def date(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.at_s))

    def is_over(self, now_s: float) -> bool:
        return self.at_s < now_s

    def is_soon(self, now_s: float) -> bool:
        """Whether it is within 30 days, or over."""
        return self.at_s - now_s < _SOON_S


def first_end(chain: Iterable[bytes]) -> CertificateEnd | None:
    """The first end of the certificates of a chain, which are in DER; None if none can be read."""
    return min(filter(None, map(_end_of, chain)), default=None)


def _end_of(encoded: bytes) -> CertificateEnd | None:
    try:
        return CertificateEnd(end_of_validity(encoded), distinguished_name(read_certificate(encoded).subject))
    except DerError:
        return None
