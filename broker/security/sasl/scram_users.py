"""The SCRAM users that this broker knows, and a dummy credential for every other name.

**Why.** A login of an unknown user must look like a login with a wrong password: the same challenges, the same work.

**How.** The dummy's salt is an HMAC of the name, so a name keeps its salt. Its keys fit no password. It has the number
of iterations that most users have.
"""

from collections import Counter
from collections.abc import Mapping

from ....protocol.scram import MIN_ITERATIONS, SCRAM_MECHANISMS, ScramMechanism
from .scram_credential import ScramCredential

__all__ = ["ScramUsers", "salt_text"]

_SALT_BITS = 130
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def salt_text(number: int) -> bytes:
    """A salt as Kafka's tools make it: a random number of 130 bits, written to base 36 (ScramFormatter)."""
    digits = []
    number %= 1 << _SALT_BITS
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).encode()


class ScramUsers:
    """Credentials by user and mechanism. ``dummy_secret``: random, and the same on all brokers of the cluster."""

    def __init__(self, dummy_secret: bytes) -> None:
        self._dummy_secret = dummy_secret
        self._credentials: dict[tuple[str, str], ScramCredential] = {}
        self._of_program: dict[tuple[str, str], ScramCredential] = {}
        self._iterations: dict[str, Counter[int]] = {mechanism: Counter() for mechanism in SCRAM_MECHANISMS}

    def set_user(self, user: str, credentials: Mapping[str, ScramCredential]) -> None:
        """``credentials``: all of the user, by mechanism; empty: the user is gone."""
        for mechanism, counts in self._iterations.items():
            before = self._credentials.pop((user, mechanism), None)
            if before is not None:
                counts -= Counter([before.iterations])
            if mechanism in credentials:
                self._credentials[user, mechanism] = credentials[mechanism]
                counts[credentials[mechanism].iterations] += 1

    def add_passwords(self, passwords: Mapping[str, str]) -> None:
        """Add users of a broker inside a program, for all mechanisms."""
        for mechanism in SCRAM_MECHANISMS.values():
            for user, password in passwords.items():
                self._add_password(mechanism, user, password)

    def _add_password(self, mechanism: ScramMechanism, user: str, password: str) -> None:
        """Credentials in the metadata tree take precedence.

        The salt is that of the dummy, because a salt that changed with each start would tell that the user exists.
        """
        salt = self._dummy(mechanism, user).salt
        credential = ScramCredential.of_password(mechanism, password, salt, MIN_ITERATIONS)
        self._of_program[user, mechanism.name] = credential

    def credential(self, mechanism: ScramMechanism, user: str) -> tuple[ScramCredential, bool]:
        """The credential to check a login against, and whether the user exists. The dummy is made in any case."""
        dummy = self._dummy(mechanism, user)
        key = (user, mechanism.name)
        found = self._credentials.get(key) or self._of_program.get(key)
        return (dummy, False) if found is None else (found, True)

    def _dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        def derived(use: str) -> bytes:
            return mechanism.hmac(self._dummy_secret, f"{use}\0{mechanism.name}\0{user}".encode())

        counts = self._iterations[mechanism.name]
        usual = max(sorted(counts), key=counts.__getitem__, default=MIN_ITERATIONS)
        salt = salt_text(int.from_bytes(derived("salt"), "big"))
        return ScramCredential(salt, derived("stored"), derived("server"), usual)
