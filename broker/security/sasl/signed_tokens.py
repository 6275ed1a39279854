"""Validates signed JSON Web Tokens for OAUTHBEARER (``OAuthBearerValidatorCallbackHandler``).

**How.** PyJWT checks the signature with an algorithm that the key fixes, never the token alone; the claims are checked
here, with the broker's clock.
"""

from collections.abc import Callable

from ....client.oauth.token_text import InvalidTokenError, json_object
from ....config.config_error import ConfigError
from .jwks import ALGORITHMS, KeySet
from .oauth_bearer import ValidToken
from .token_claims import TokenRules, checked_claims

__all__ = ["SignedTokens"]


class SignedTokens:
    """A `TokenValidator`. ``keys`` returns the keys at hand; ``missed`` is called with a key id that is not there.

    The constructor raises ConfigError when PyJWT is not installed.
    """

    def __init__(self, rules: TokenRules, keys: Callable[[], KeySet], missed: Callable[[str], object]) -> None:
        try:
            from jwt import PyJWS
            from jwt.algorithms import has_crypto
        except ImportError:
            has_crypto = False
        if not has_crypto:
            raise ConfigError("OAUTHBEARER needs PyJWT and cryptography: pip install 'pybroker[oauth]'")
        self._rules = rules
        self._keys = keys
        self._missed = missed
        self._jws = PyJWS(algorithms=ALGORITHMS, options={"enforce_minimum_key_length": True})

    def validate(self, token: str, now_ms: int) -> ValidToken:
        if token.count(".") != 2 or not all(token.split(".")):
            raise InvalidTokenError("the token does not have three parts")
        return checked_claims(json_object(self._signed_payload(token), "payload"), self._rules, now_ms)

    def _signed_payload(self, token: str) -> bytes:
        """The payload of a token whose signature is right. Raises InvalidTokenError."""
        from jwt.exceptions import PyJWTError

        try:
            header = self._jws.get_unverified_header(token)
        except PyJWTError:
            raise InvalidTokenError("the header of the token is malformed") from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise InvalidTokenError(f"algorithm {str(algorithm)[:20]!r} of the token is not accepted")
        candidates = self._keys().candidates(algorithm, key_id)
        if not candidates:
            if key_id is not None:
                self._missed(key_id)
            raise InvalidTokenError("there is no key for the signature of the token")
        for candidate in candidates:
            try:
                return bytes(self._jws.decode_complete(token, candidate.key, [algorithm])["payload"])
            except PyJWTError:
                continue
        raise InvalidTokenError("the signature of the token is wrong")
