"""Reads PKCS12 stores, by the library ``cryptography`` (the extra ``security``), imported when it is needed."""

import warnings
from typing import Any

from .certificates import read_certificate
from .store import KeyPair, Store, StoreError, check_certificates

__all__ = ["read_pkcs12"]


def read_pkcs12(data: bytes, password: str | None) -> Store:
    """The key with its chain, and the other certificates, which are trusted.

    Java writes which certificates it trusts into a place that the library does not show. So certificates of the key's
    chain are not trusted, and all others are.

    Raises:
        StoreError: a wrong password, malformed bytes, or the library is missing.
    """
    pkcs12, serialization = _library()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old ciphers, which old stores have
            content = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError as error:
        raise StoreError(f"the password is wrong, or the file was changed ({_first_line(error)})") from None
    except Exception as error:  # the library's own errors for algorithms that it does not have
        raise StoreError(f"it cannot be read: {_first_line(error)}") from None
    encoding = serialization.Encoding
    others = tuple(each.certificate.public_bytes(encoding.DER) for each in content.additional_certs)
    if content.key is None:
        own = () if content.cert is None else (content.cert.certificate.public_bytes(encoding.DER),)
        check_certificates((*own, *others))
        return Store(trusted=(*own, *others))
    if content.cert is None:
        raise StoreError("its key has no certificate")
    key = content.key.private_bytes(encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    chain = _chain(content.cert.certificate.public_bytes(encoding.DER), others)
    return Store((KeyPair(key, chain),), tuple(other for other in others if other not in chain))


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise StoreError("PKCS12 stores need the library cryptography: pip install 'pybroker[security]'") from None
    return pkcs12, serialization


def _chain(first: bytes, others: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The certificate, its issuer, the issuer's issuer and so on, as far as they are in the store."""
    check_certificates((first, *others))
    by_subject = {certificate.subject: certificate for certificate in map(read_certificate, others)}
    chain = [read_certificate(first)]
    while (issuer := by_subject.pop(chain[-1].issuer, None)) is not None and chain[-1].subject != chain[-1].issuer:
        chain.append(issuer)
    return tuple(certificate.encoded for certificate in chain)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
