"""The settings in force, and the reactions to their changes (Kafka's DynamicBrokerConfig, KIP-226).

    dynamic, for this broker > dynamic, for all brokers > settings file > default

The dynamic settings come from the metadata tree, at the start and at each change. The file is read again on SIGHUP.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...config.config import HIDDEN, Config, base_setting
from ...config.config_error import ConfigError
from ...config.dynamic_changes import changed_settings, check_change, check_dynamic, is_reloadable, usable
from ...config.dynamic_layers import DynamicLayers
from ...config.given import Given
from ...config.load import reload_config, with_dynamic, with_static
from ...config.notices import notices_of, setting_taken
from ...config.table import BROKER_SETTINGS
from ...config.values import trim
from .stored_passwords import StoredPasswords

__all__ = ["Check", "DynamicConfig", "Reaction"]

logger = logging.getLogger(__name__)

_MOST_LOGGED = 50
_MOST_UNKNOWN = 5

Reaction = Callable[[Config], Awaitable[None] | None]
"""Applies new settings to a part of the broker. Raises ConfigError when it keeps its old ones."""
Check = Callable[[Config, Collection[str]], None]
"""Raises ConfigError when a part would refuse new settings; told the names of those that the change sets."""


class DynamicConfig:
    """``config``: the settings in force; replaced, never modified. Used on the loop."""

    def __init__(self, config: Config) -> None:
        """Raises ConfigError when the settings of stored passwords are wrong."""
        self.config = config
        self.passwords = StoredPasswords(config)
        self._layers = config.dynamic
        self._reactions: list[tuple[Collection[str] | None, Reaction]] = []
        self._reactions_to_reading: list[Reaction] = []
        self._checks: list[Check] = []
        self._one_at_a_time = asyncio.Lock()

    def when_changed(self, names: Collection[str] | None, reaction: Reaction) -> None:
        """Call ``reaction`` after a change of one of ``names``, also for a single listener; None: of any setting."""
        self._reactions.append((names, reaction))

    def when_read(self, reaction: Reaction, check: Check) -> None:
        """Call ``reaction`` after settings were altered or read again, also with the same values: a file that a setting
        names may have changed. ``check`` may refuse a change by ConfigError before it is written."""
        self._reactions_to_reading.append(reaction)
        self._checks.append(check)

    def load(self, layers: DynamicLayers) -> Config:
        """Set the dynamic settings at the start, without reactions. Raises ConfigError if they contradict the file."""
        self._layers = DynamicLayers(
            _usable(layers.cluster_wide, per_broker=False),
            _usable(self.passwords.decoded(layers.per_broker), per_broker=True),
        )
        self.config = with_dynamic(self.config, self._layers)
        _log_changes(self.config, list(self._layers))
        return self.config

    def check(self, settings: Mapping[str, str], *, per_broker: bool, named: Iterable[str] = ()) -> None:
        """Raises ConfigError when ``settings`` could not replace the dynamic settings of this broker, or of all.

        ``named``: settings that the change sets, perhaps to the value that they have.
        """
        check_dynamic(settings, per_broker=per_broker)
        config = with_dynamic(self.config, self._layers.replaced(settings, per_broker=per_broker))
        check_change(self.config, config)
        names = frozenset([*named, *changed_settings(self.config, config)])
        for check in self._checks:
            check(config, names)

    async def take(self, settings: Mapping[str, str], *, per_broker: bool) -> None:
        """Apply the dynamic settings that the tree now has for this broker, or for all. Errors are logged."""
        async with self._one_at_a_time:
            readable = self.passwords.decoded(settings) if per_broker else settings
            good = _usable(readable, per_broker=per_broker)
            self._layers = self._layers.replaced(good, per_broker=per_broker)
            try:
                config = with_dynamic(self.config, self._layers)
                check_change(self.config, config)
            except ConfigError as error:
                logger.error("changed settings are invalid, the former ones stay in force: %s", error)
                return
            await self._put_in_force(config)

    async def reload(self, run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        """Read the settings file again (with ``run_in_pool``, because it blocks) and apply what may change."""
        async with self._one_at_a_time:
            if self.config.file is None:
                logger.warning("there is no settings file to read again")
                return
            logger.info("reading %s again", self.config.file)
            try:
                fresh: Config = await run_in_pool(partial(reload_config, self.config))
                config = with_static(self.config, _reloaded(self.config.static, fresh.static))
            except ConfigError as error:
                logger.error("%s is invalid, the former settings stay in force: %s", self.config.file, error)
                return
            await self._put_in_force(config)

    async def _put_in_force(self, config: Config) -> None:
        old, self.config = self.config, config
        changed = changed_settings(old, config)
        _log_changes(config, changed)
        bases = frozenset([*changed, *(base.name for name in changed if (base := base_setting(name)) is not None)])
        reactions = [
            reaction for names, reaction in self._reactions if bases and (names is None or not bases.isdisjoint(names))
        ]
        for reaction in (*reactions, *self._reactions_to_reading):
            try:
                done = reaction(config)
                if inspect.isawaitable(done):
                    await done
            except ConfigError as error:
                logger.error("a changed setting cannot be applied: %s", error)


def _usable(settings: Mapping[str, str], *, per_broker: bool) -> dict[str, str]:
    good, problems = usable(settings, per_broker=per_broker)
    for problem in problems:
        logger.error("a setting in the metadata is ignored: %s", problem)
    return good


def _reloaded(old: Mapping[str, Given], fresh: Mapping[str, Given]) -> dict[str, Given]:
    """``fresh`` as far as it can be applied without a restart; the rest is logged."""
    merged = dict(old)
    for name in dict.fromkeys([*old, *fresh]):
        before, after = old.get(name), fresh.get(name)
        if _text(before) == _text(after):
            continue
        if not is_reloadable(name):
            logger.warning("%s has changed in the file; this needs a restart", name)
        elif after is None:
            del merged[name]
        else:
            merged[name] = after
    return merged


def _text(given: Given | None) -> str | None:
    return None if given is None else trim(given.text)


def _log_changes(config: Config, changed: Sequence[str]) -> None:
    """Log each change. Settings with unknown names share one line, because a client may set thousands of them."""
    unknown = [name for name in changed if config.is_unknown_dynamic(name)]
    if len(unknown) > _MOST_UNKNOWN:
        first, more = ", ".join(unknown[:_MOST_UNKNOWN]), len(unknown) - _MOST_UNKNOWN
        logger.warning(
            "%s and %d more were set while running, and are ignored: there are no such settings", first, more
        )
        gone = frozenset(unknown)
        changed = [name for name in changed if name not in gone]
    for name in changed[:_MOST_LOGGED]:
        _log_change(config, name)
    if len(changed) > _MOST_LOGGED:
        logger.info("%d more settings have changed", len(changed) - _MOST_LOGGED)


def _log_change(config: Config, name: str) -> None:
    given = config.given.get(name)
    if given is None:
        logger.info("%s is not set any more%s", name, f": {config.text(name)}" if name in BROKER_SETTINGS else "")
        return
    setting = setting_taken(config, name)
    if setting is not None:
        shown = HIDDEN if setting.is_secret else trim(given.text)
        logger.info("%s is %s now (%s)", name, shown, given.place)
    for line in notices_of(config, name):
        logger.warning("%s", line)
