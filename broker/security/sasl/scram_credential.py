"""A user's SCRAM credential: what the broker stores in place of the password, and its text in the metadata tree."""

import re
from base64 import b64decode, b64encode
from dataclasses import field
from typing import Self

from ....base.frozen import frozen
from ....protocol.scram import MIN_ITERATIONS, ScramMechanism

__all__ = ["MAX_ITERATIONS", "ScramCredential"]

MAX_ITERATIONS = 16384
"""The most that the API accepts (KIP-554). Kafka's brokers accept more in the tree, and so does this one."""
_FIELDS = {"salt", "stored_key", "server_key", "iterations"}
_NUMBER = re.compile("[0-9]{1,9}")


@frozen
class ScramCredential:
    """``stored_key`` checks the client's proof, ``server_key`` makes the broker's signature (RFC 5802, section 3)."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @classmethod
    def of_salted_password(
        cls, mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
    ) -> Self:
        stored_key = mechanism.stored_key(mechanism.client_key(salted_password))
        return cls(salt, stored_key, mechanism.server_key(salted_password), iterations)

    @classmethod
    def of_password(cls, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> Self:
        """Some milliseconds of CPU."""
        salted_password = mechanism.salted_password(password, salt, iterations)
        return cls.of_salted_password(mechanism, salted_password, salt, iterations)

    def encode(self) -> str:
        """The text in the node of the user (ScramCredentialUtils)."""
        salt, stored_key, server_key = (
            b64encode(each).decode() for each in (self.salt, self.stored_key, self.server_key)
        )
        return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={self.iterations}"

    @classmethod
    def decode(cls, mechanism: ScramMechanism, text: str) -> Self:
        """Raises ValueError, whose message does not contain the text."""
        fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        if fields.keys() != _FIELDS or text.count(",") != len(_FIELDS) - 1:
            raise ValueError(f"a SCRAM credential must have the fields {', '.join(sorted(_FIELDS))}")
        salt, stored_key, server_key = (_decoded(name, fields[name]) for name in ("salt", "stored_key", "server_key"))
        if not _NUMBER.fullmatch(fields["iterations"]) or int(fields["iterations"]) < MIN_ITERATIONS:
            raise ValueError(f"iterations of a SCRAM credential must be a number from {MIN_ITERATIONS}")
        if not salt or not len(stored_key) == len(server_key) == mechanism.digest_bytes:
            raise ValueError(f"a key of a SCRAM credential does not have the length for {mechanism.name}")
        return cls(salt, stored_key, server_key, int(fields["iterations"]))


def _decoded(name: str, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise ValueError(f"{name} of a SCRAM credential is not base64") from None
