"""Encryption of passwords that lie in the metadata tree (Kafka's EncryptingPasswordEncoder).

A stored password is one line of ``name:value`` pairs that names its algorithms, so that it can be read after the
settings have changed. The key comes from ``password.encoder.secret`` by PBKDF2.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from ...base.frozen import frozen
from ...config.config import Config
from ...config.config_error import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.modes import CBC

__all__ = ["EncodedPasswordError", "PasswordEncoder"]

SECRET = "password.encoder.secret"
_KEY_FACTORY = "PBKDF2WithHmacSHA512"
_HASHES = {f"PBKDF2WithHmac{name}": name.lower() for name in ("SHA1", "SHA224", "SHA256", "SHA384", "SHA512")}
_CBC, _GCM = "AES/CBC/PKCS5Padding", "AES/GCM/NoPadding"
_KEY_BITS = (128, 192, 256)
_SALT_BYTES = 256
_BLOCK_BYTES, _NONCE_BYTES, _TAG_BYTES = 16, 12, 16
_MOST_ITERATIONS = 10_000_000


class EncodedPasswordError(ValueError):
    """A stored password cannot be read; the text says why, without the password."""


@frozen
class PasswordEncoder:
    """``key_factory``, ``cipher``, ``key_bits`` and ``iterations`` are those of new passwords."""

    secret: str = field(repr=False)
    key_factory: str = _KEY_FACTORY
    cipher: str = _CBC
    key_bits: int = 128
    iterations: int = 4096

    @classmethod
    def from_config(cls, config: Config, secret_name: str = SECRET) -> PasswordEncoder | None:
        """None without a secret. Raises ConfigError."""
        secret = config.optional_string(secret_name)
        if secret is None:
            return None
        encoder = cls(
            secret,
            config.optional_string("password.encoder.keyfactory.algorithm") or _KEY_FACTORY,
            config.string("password.encoder.cipher.algorithm"),
            config.int("password.encoder.key.length"),
            config.int("password.encoder.iterations"),
        )
        encoder._check(secret_name)
        return encoder

    def encode(self, passwords: Mapping[str, str]) -> dict[str, str]:
        """The stored texts of ``passwords``, by the same names. One salt serves all, for a key takes milliseconds."""
        salt = os.urandom(_SALT_BYTES)
        key = _key(self.secret, self.key_factory, salt, self.iterations, self.key_bits)
        return {name: self._encode(key, salt, password) for name, password in passwords.items()}

    def decode(self, text: str) -> str:
        """The password of a stored text. Raises EncodedPasswordError."""
        fields = dict(each.partition(":")[::2] for each in text.split(","))
        try:
            iterations, bits = int(fields["iterations"]), int(fields["keyLength"])
            if fields["keyFactoryAlgorithm"] not in _HASHES or bits not in _KEY_BITS or iterations > _MOST_ITERATIONS:
                raise EncodedPasswordError("it is encrypted in a way that pybroker does not have")
            salt = base64.b64decode(fields["salt"], validate=True)
            key = _key(self.secret, fields["keyFactoryAlgorithm"], salt, iterations, bits)
            encrypted = base64.b64decode(fields["encryptedPassword"], validate=True)
            start = base64.b64decode(fields["initializationVector"], validate=True)
            password = _DECRYPT[fields["cipherAlgorithm"]](key, start, encrypted).decode()
            length = int(fields["passwordLength"])
        except KeyError as error:
            raise EncodedPasswordError(f"it is not encrypted as Kafka does it: {error} is missing or unknown") from None
        except EncodedPasswordError:
            raise
        except Exception:  # cryptography has errors of its own for wrong keys
            raise EncodedPasswordError("it was encrypted with another secret, or is damaged") from None
        if _java_length(password) != length:
            raise EncodedPasswordError("it was encrypted with another secret, or is damaged")
        return password

    def _encode(self, key: bytes, salt: bytes, password: str) -> str:
        start = os.urandom(_NONCE_BYTES if self.cipher == _GCM else _BLOCK_BYTES)
        fields = {
            "keyFactoryAlgorithm": self.key_factory,
            "cipherAlgorithm": self.cipher,
            "keyLength": str(self.key_bits),
            "salt": _base64(salt),
            "iterations": str(self.iterations),
            "encryptedPassword": _base64(_ENCRYPT[self.cipher](key, start, password.encode())),
            "passwordLength": str(_java_length(password)),
            "initializationVector": _base64(start),
        }
        if self.cipher == _GCM:
            fields["authenticationTagLength"] = str(8 * _TAG_BYTES)
        return ",".join(f"{name}:{value}" for name, value in fields.items())

    def _check(self, secret_name: str) -> None:
        if not self.secret:
            raise ConfigError(f"{secret_name}: must not be empty")
        for name, value, allowed in (
            ("password.encoder.keyfactory.algorithm", self.key_factory, tuple(_HASHES)),
            ("password.encoder.cipher.algorithm", self.cipher, tuple(_ENCRYPT)),
            ("password.encoder.key.length", self.key_bits, _KEY_BITS),
        ):
            if value not in allowed:
                raise ConfigError(f"{name}={value}: must be one of {', '.join(map(str, allowed))}")
        if self.iterations > _MOST_ITERATIONS:
            raise ConfigError(f"password.encoder.iterations={self.iterations}: must be at most {_MOST_ITERATIONS}")
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise ConfigError(
                f"{secret_name} needs the library cryptography: pip install 'pybroker[security]'"
            ) from None


@lru_cache(maxsize=16)
def _key(secret: str, key_factory: str, salt: bytes, iterations: int, bits: int) -> bytes:
    """Kept, because every change of settings decodes all passwords again."""
    return hashlib.pbkdf2_hmac(_HASHES[key_factory], secret.encode(), salt, iterations, bits // 8)


def _aes_cbc(key: bytes, start: bytes) -> Cipher[CBC]:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    return Cipher(AES(key), CBC(start))


def _encrypt_cbc(key: bytes, start: bytes, password: bytes) -> bytes:
    padding = _BLOCK_BYTES - len(password) % _BLOCK_BYTES
    encryptor = _aes_cbc(key, start).encryptor()
    return encryptor.update(password + bytes([padding]) * padding) + encryptor.finalize()


def _decrypt_cbc(key: bytes, start: bytes, encrypted: bytes) -> bytes:
    decryptor = _aes_cbc(key, start).decryptor()
    padded = decryptor.update(encrypted) + decryptor.finalize()
    padding = padded[-1]
    if not 1 <= padding <= _BLOCK_BYTES or padded[-padding:] != bytes([padding]) * padding:
        raise ValueError("the padding is wrong")
    return padded[:-padding]


def _encrypt_gcm(key: bytes, start: bytes, password: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key).encrypt(start, password, None)


def _decrypt_gcm(key: bytes, start: bytes, encrypted: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key).decrypt(start, encrypted, None)


_Step = Callable[[bytes, bytes, bytes], bytes]
_ENCRYPT: dict[str, _Step] = {_CBC: _encrypt_cbc, _GCM: _encrypt_gcm}
_DECRYPT: dict[str, _Step] = {_CBC: _decrypt_cbc, _GCM: _decrypt_gcm}


def _java_length(text: str) -> int:
    """The length of a Java string: characters outside the basic plane count twice."""
    return len(text.encode("utf-16-le")) // 2


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
