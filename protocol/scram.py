"""The mathematics of SCRAM that client and broker share (RFC 5802, RFC 7677).

**Limits.** Kafka uses the UTF-8 bytes of a password as they are (ScramFormatter.normalize). RFC 5802 would prepare it
by SASLprep; a password with a character such as "½" then gives other keys.
"""

from ..base.frozen import frozen

__all__ = [
    "MIN_ITERATIONS",
    "SASL_NAME",
    "SCRAM_MECHANISMS",
    "ScramMechanism",
    "name_in_message",
    "sasl_name",
    "xor",
]

SASL_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
"""The form of a name in a message, as a regular expression. Kafka's names are ASCII."""
MIN_ITERATIONS = 4096
"""Fewer iterations make a stolen password too cheap to guess."""


@frozen
class ScramMechanism:
    """A SCRAM mechanism with its hash function. ``code`` names it in the requests of KIP-554."""

    name: str
    hash_name: str
    digest_bytes: int
    code: int

    def digest(self, message: bytes) -> bytes:
        from hashlib import new  # slow to import

        return new(self.hash_name, message).digest()

    def hmac(self, key: bytes, message: bytes) -> bytes:
        from hmac import digest  # slow to import

        return digest(key, message, self.hash_name)

    def salted_password(self, password: str, salt: bytes, iterations: int) -> bytes:
        """PBKDF2 of a password: some milliseconds of CPU for each 10,000 iterations."""
        from hashlib import pbkdf2_hmac

        return pbkdf2_hmac(self.hash_name, password.encode(), salt, iterations)

    def client_key(self, salted_password: bytes) -> bytes:
        return self.hmac(salted_password, b"Client Key")

    def stored_key(self, client_key: bytes) -> bytes:
        return self.digest(client_key)

    def server_key(self, salted_password: bytes) -> bytes:
        return self.hmac(salted_password, b"Server Key")


SCRAM_MECHANISMS = {
    each.name: each
    for each in (ScramMechanism("SCRAM-SHA-256", "sha256", 32, 1), ScramMechanism("SCRAM-SHA-512", "sha512", 64, 2))
}


def sasl_name(user: str) -> str:
    """A user name as it stands in a message: '=' and ',' are escaped."""
    return user.replace("=", "=3D").replace(",", "=2C")


def name_in_message(text: str) -> str:
    """The name that `sasl_name` made ``text`` of."""
    return text.replace("=2C", ",").replace("=3D", "=")


def xor(one: bytes, other: bytes) -> bytes:
    """The exclusive or of two values of the same length."""
    return bytes(left ^ right for left, right in zip(one, other, strict=True))
