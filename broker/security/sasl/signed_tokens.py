"""Validates signed JSON Web Tokens for OAUTHBEARER (``OAuthBearerValidatorCallbackHandler``).

**How.** The key fixes the algorithm, never the token alone. PyJWT computes the check of the signature. The token is
taken apart here, because PyJWT looks at each of its characters in Python, for each key, before anybody has logged in.
The claims are checked with the broker's clock, after the signature.
"""

from collections.abc import Callable, Mapping

from ....client.oauth.token_text import InvalidTokenError, decoded_part, json_object
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
            from jwt import algorithms
        except ImportError:
            algorithms = None  # type: ignore[assignment]
        if algorithms is None or not algorithms.has_crypto:
            raise ConfigError("OAUTHBEARER needs PyJWT and cryptography: pip install 'pybroker[oauth]'")
        self._rules = rules
        self._keys = keys
        self._missed = missed
        known = algorithms.get_default_algorithms()
        self._verify = {name: known[name].verify for name in ALGORITHMS}

    def validate(self, token: str, now_ms: int) -> ValidToken:
        parts = token.split(".")
        if len(parts) != 3 or not all(parts):
            raise InvalidTokenError("the token does not have three parts")
        header = json_object(decoded_part(parts[0], "header"), "header")
        payload, signature = decoded_part(parts[1], "payload"), decoded_part(parts[2], "signature")
        self._check_signature(header, token.rpartition(".")[0].encode(), signature)
        return checked_claims(json_object(payload, "payload"), self._rules, now_ms)

    def _check_signature(self, header: Mapping[str, object], signed: bytes, signature: bytes) -> None:
        """Raises InvalidTokenError unless a key of the issuer has signed ``signed``."""
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise InvalidTokenError(f"algorithm {str(algorithm)[:20]!r} of the token is not accepted")
        if "crit" in header or header.get("b64", True) is not True:
            raise InvalidTokenError("the header of the token asks for an extension")
        if key_id is not None and not isinstance(key_id, str):
            raise InvalidTokenError("the key id of the token is no text")
        candidates = self._keys().candidates(algorithm, key_id)
        if not candidates:
            if key_id is not None:
                self._missed(key_id)
            raise InvalidTokenError("there is no key for the signature of the token")
        if not any(self._verify[algorithm](signed, each.key, signature) for each in candidates):
            raise InvalidTokenError("the signature of the token is wrong")
