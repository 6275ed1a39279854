"""Passwords among the settings of this broker in the metadata tree, where they lie encrypted."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.dynamic_changes import is_secret
from .password_encoder import SECRET, EncodedPasswordError, PasswordEncoder

__all__ = ["StoredPasswords"]

logger = logging.getLogger(__name__)

_OLD_SECRET = "password.encoder.old.secret"


class StoredPasswords:
    """Translates settings between the tree and the broker; without ``password.encoder.secret`` it refuses passwords."""

    def __init__(self, config: Config) -> None:
        """Raises ConfigError when the settings contradict each other."""
        self._encoder = PasswordEncoder.from_config(config)
        self._old = PasswordEncoder.from_config(config, _OLD_SECRET)
        if self._old is not None and self._encoder is None:
            raise ConfigError(f"{_OLD_SECRET} is set, and {SECRET} is not")

    def decoded(self, stored: Mapping[str, str]) -> dict[str, str]:
        """``stored`` with readable passwords. An unreadable password is logged and left out, as in Kafka."""
        settings = dict(stored)
        for name in filter(is_secret, stored):
            try:
                settings[name] = self._decode(stored[name])
            except EncodedPasswordError as error:
                del settings[name]
                logger.error("a password in the metadata is ignored: %s: %s", name, error)
        return settings

    def encoded(self, settings: Mapping[str, str]) -> dict[str, str]:
        """``settings`` as they are stored. Raises ConfigError when there is a password and no secret."""
        passwords = {name: text for name, text in settings.items() if is_secret(name)}
        if not passwords:
            return dict(settings)
        if self._encoder is None:
            raise ConfigError(f"{', '.join(passwords)}: passwords are stored only with {SECRET}, which is not set")
        return {**settings, **self._encoder.encode(passwords)}

    def encoded_anew(self, stored: Mapping[str, str]) -> Mapping[str, str]:
        """``stored`` with the passwords of the old secret encrypted by the present one; others stay as they are."""
        passwords = {}
        for name in filter(is_secret, stored):
            try:
                if self._old is not None:
                    passwords[name] = self._old.decode(stored[name])
            except EncodedPasswordError:
                logger.debug("%s is not encrypted by the old secret", name)
        return stored if self._encoder is None or not passwords else {**stored, **self._encoder.encode(passwords)}

    def _decode(self, text: str) -> str:
        if self._encoder is None:
            raise EncodedPasswordError(f"{SECRET} is not set")
        return self._encoder.decode(text)
