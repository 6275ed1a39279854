"""The broker's settings as one immutable value: the given settings, resolved against the table of settings."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from .config_error import ConfigError
from .dynamic_layers import NO_DYNAMIC_SETTINGS, DynamicLayers, overlaid
from .given import Given, Source
from .listeners import Listener, parse_listeners, parse_protocol_map
from .setting import Setting
from .single_kraft_node import SingleKraftNode, single_kraft_node
from .table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, READ_OUTSIDE_THE_TABLE
from .typed_values import TypedValues
from .values import INT, BadValueError, Value, format_value, parse_value, split_list, trim

HIDDEN = "[hidden]"
METADATA_STORE_FILE = "__pybroker_metadata.db"

# KIP-103, KIP-226: a setting for one listener only; some of SASL's also name a mechanism before the setting.
_LISTENER_PREFIX = re.compile(r"listener\.name\.(?P<listener>[^.]*)\.(?P<base>.*)")
_BASES_BEHIND_A_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000


class Config(TypedValues):
    """All settings of the broker, read-only.

    Getters take Kafka's names (``config.int("num.io.threads")``). Properties combine several settings into one value.
    The constructor checks each value alone (ConfigError); `load_config` also checks the settings together.
    """

    __slots__ = (
        "_given",
        "_layers",
        "_listener_given",
        "_static",
        "dynamic",
        "file",
        "kraft_node",
        "unknown",
        "uses_embedded_store",
        "variables",
    )

    dynamic: DynamicLayers
    """Settings that were changed while the broker runs."""
    file: Path | None
    """The file that the settings were read from, if there was one."""
    variables: Mapping[str, str]
    """For each setting in ``file`` that an environment variable set: the variable's name."""
    kraft_node: SingleKraftNode | None
    """The translation of the settings given at the start, if they describe a single KRaft node."""
    uses_embedded_store: bool
    """Whether ``zookeeper.connect`` is unset: a single broker that keeps its metadata in a file of its own."""
    unknown: Mapping[str, Given]
    """Values given under names that no table of settings has."""

    def __init__(
        self,
        static: Mapping[str, Given],
        dynamic: DynamicLayers = NO_DYNAMIC_SETTINGS,
        file: Path | None = None,
        variables: Mapping[str, str] = NO_VARIABLES,
    ) -> None:
        self._static = MappingProxyType(dict(static))
        self.kraft_node = single_kraft_node(static)
        at_start = self._static if self.kraft_node is None else MappingProxyType(dict(self.kraft_node.settings))
        self._layers = (_given_per_broker(dynamic), _given_cluster_wide(dynamic), at_start)
        uppermost, upper, lower = self._layers
        given = overlaid(overlaid(lower, upper), uppermost)
        self.dynamic = dynamic
        self.file = file
        self.variables = variables
        known = {name: value for name, value in given.items() if name in BROKER_SETTINGS}
        rest = {name: value for name, value in given.items() if name not in BROKER_SETTINGS}
        self._given = MappingProxyType(given)
        self._listener_given = {name: value for name, value in rest.items() if base_setting(name) is not None}
        outside = self._listener_given.keys() | READ_OUTSIDE_THE_TABLE
        self.unknown = MappingProxyType({name: rest[name] for name in rest if name not in outside})
        self.uses_embedded_store = "zookeeper.connect" not in known or trim(known["zookeeper.connect"].text) == ""
        values = dict(_defaults(self.uses_embedded_store))
        for name, value in known.items():
            values[name] = _parse(BROKER_SETTINGS[name], name, value)
        if "queued.max.request.bytes" not in known:
            # In pybroker it bounds memory; its default must not refuse a frame size that Kafka accepts.
            values["queued.max.request.bytes"] = max(
                _whole(values["queued.max.request.bytes"]), _whole(values["socket.request.max.bytes"])
            )
        super().__init__(values)
        for name, value in self._listener_given.items():
            setting = base_setting(name)
            assert setting is not None
            _parse(setting, name, value)

    def for_listener(self, listener_name: str) -> "Config":
        """These settings, with ``listener.name.<name>.<setting>`` of one listener in place of the common ones."""
        given = dict(self._given)
        for name, value in self._listener_given.items():
            match = _LISTENER_PREFIX.fullmatch(name)
            if match is not None and match["listener"] == listener_name.lower() and match["base"] in BROKER_SETTINGS:
                given[match["base"]] = value
        return Config(given)

    # -- given values

    @property
    def given(self) -> Mapping[str, Given]:
        """The values given, by name, known or not; of several layers the one with the highest precedence."""
        return self._given

    @property
    def static(self) -> Mapping[str, Given]:
        """The values given at the start, in the file and as overrides, before `single_kraft_node` translates them."""
        return self._static

    @property
    def layers(self) -> tuple[Mapping[str, Given], Mapping[str, Given], Mapping[str, Given]]:
        """The given values by layer, highest precedence first: per broker, cluster-wide, at the start."""
        return self._layers

    def is_unknown_dynamic(self, name: str) -> bool:
        """Whether ``name`` is a dynamic setting that no broker knows."""
        return name in self.dynamic and name not in DYNAMIC_ONLY_SETTINGS and self.setting(name) is None

    def is_given(self, name: str) -> bool:
        """Whether a value was given for ``name``."""
        return name in self._given

    def differs(self, name: str) -> bool:
        """Whether a known setting was given a value that is neither empty nor Kafka's default."""
        setting = self.setting(name)
        if setting is None or name not in self._given or not trim(self._given[name].text):
            return False
        return setting.default is None or setting.parse(self._given[name].text) != setting.parse(setting.default)

    def setting(self, name: str) -> Setting | None:
        """The setting called ``name`` (also with a listener's prefix), or None."""
        return BROKER_SETTINGS.get(name) or base_setting(name)

    def value_given(self, name: str) -> Value | None:
        """The value given under ``name``, which may have a listener's prefix; None when none was given."""
        setting = self.setting(name)
        return setting.parse(self._given[name].text) if setting is not None and name in self._given else None

    def dynamic_int(self, name: str) -> int:
        """The value, or else the default, of an integer setting that can only be set while the broker runs."""
        setting, text = DYNAMIC_ONLY_SETTINGS[name], self.dynamic.get(name)
        return _whole(setting.default_value(self.uses_embedded_store) if text is None else setting.parse(text))

    def source(self, name: str) -> Source:
        """The source of a known setting's value."""
        return self._given[name].source if name in self._given else Source.DEFAULT

    def text(self, name: str) -> str | None:
        """A known setting's value as text; a password is hidden, null is None."""
        if BROKER_SETTINGS[name].is_secret and self._values[name] is not None:
            return HIDDEN
        return format_value(self._values[name])

    def shown(self, name: str) -> str:
        """A known setting for an error: its name as it was given, its value, and the place where it was given."""
        return f"{self._name_given(name)}={self.text(name)}{self._place(name)}"

    def named(self, name: str) -> str:
        """A setting for an advice: its name as it was given, and the place where it was given."""
        return f"{self._name_given(name)}{self._place(name)}"

    def _name_given(self, name: str) -> str:
        return (self._given[name].name if name in self._given else None) or name

    def _place(self, name: str) -> str:
        return f" ({self._given[name].place})" if name in self._given else ""

    # -- values that several settings decide together

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """``log.dirs``, or else ``log.dir``, without empty names."""
        several = self.optional_string("log.dirs")
        both = several if several is not None else self.string("log.dir")
        return tuple(directory for directory in split_list(both) if directory)

    @property
    def log_dirs_named(self) -> str:
        """``log.dirs``, or ``log.dir`` where that decides, for an advice (see `named`)."""
        return self.named("log.dir" if self.is_given("log.dir") and not self.is_given("log.dirs") else "log.dirs")

    @property
    def metadata_store_path(self) -> Path:
        """The embedded store's file: ``metadata.store.path``, or else a file in the first log directory."""
        path = self.optional_string("metadata.store.path")
        return Path(path) if path is not None else Path(self.log_dirs[0]) / METADATA_STORE_FILE

    @property
    def metadata_place(self) -> str:
        """Where the metadata is, in words: the file of the embedded store, or ZooKeeper with its addresses."""
        if self.uses_embedded_store:
            return str(self.metadata_store_path)
        return f"ZooKeeper at {self.optional_string('zookeeper.connect')}"

    @property
    def retention_ms(self) -> int:
        """``log.retention.ms``, or else minutes, or else hours; -1: keep for ever."""
        minutes = self.optional_int("log.retention.minutes")
        hours = self.int("log.retention.hours")
        value = self.optional_int("log.retention.ms")
        if value is None:
            value = minutes * _MINUTE_MS if minutes is not None else hours * _HOUR_MS
        return max(value, -1)

    @property
    def roll_ms(self) -> int:
        """``log.roll.ms``, or else hours."""
        value = self.optional_int("log.roll.ms")
        return value if value is not None else self.int("log.roll.hours") * _HOUR_MS

    @property
    def roll_jitter_ms(self) -> int:
        """``log.roll.jitter.ms``, or else hours."""
        value = self.optional_int("log.roll.jitter.ms")
        return value if value is not None else self.int("log.roll.jitter.hours") * _HOUR_MS

    @property
    def flush_interval_ms(self) -> int:
        """``log.flush.interval.ms``, or else the scheduler's interval."""
        value = self.optional_int("log.flush.interval.ms")
        return value if value is not None else self.int("log.flush.scheduler.interval.ms")

    @property
    def security_protocols(self) -> Mapping[str, str]:
        """The security protocol by listener name (``listener.security.protocol.map``)."""
        name = "listener.security.protocol.map"
        return parse_protocol_map(self.string(name), place=self._place(name))

    def listeners(self) -> tuple[Listener, ...]:
        """The addresses to listen on. Raises ConfigError if ``listeners`` is malformed (never after `load_config`)."""
        return parse_listeners(self.string("listeners"), self.security_protocols, place=self._place("listeners"))

    def advertised_listeners(self) -> tuple[Listener, ...] | None:
        """The addresses that clients are told. None: each client is told the address by which it reached the broker.

        Raises ConfigError as `listeners` does.
        """
        name = "advertised.listeners"
        text = self.optional_string(name)
        if text is None:
            return None
        return parse_listeners(text, self.security_protocols, name, place=self._place(name), opened=False)

    @property
    def inter_broker_listener_name(self) -> str:
        """The name of the listener between brokers, in capital letters."""
        name = self.optional_string("inter.broker.listener.name")
        return name.upper() if name is not None else self.string("security.inter.broker.protocol")

    @property
    def max_connections_per_ip_overrides(self) -> Mapping[str, int]:
        """Most connections by address or host name; below 1 the host may not connect.

        Raises ConfigError when an element is not ``host:number`` (never after `load_config`).
        """
        name = "max.connections.per.ip.overrides"
        limits: dict[str, int] = {}
        for pair in filter(None, split_list(self.string(name))):
            host, _, number = pair.rpartition(":")
            try:
                limit = parse_value(INT, number)
            except BadValueError:
                limit = None
            if not host.strip() or not isinstance(limit, int):
                raise ConfigError(f"{self.shown(name)}: {pair} must be host:number")
            limits[host.strip()] = limit
        return limits


def base_setting(name: str) -> Setting | None:
    """The setting that a name ``listener.name.<listener>.[<mechanism>.]<setting>`` refers to, or None."""
    match = _LISTENER_PREFIX.fullmatch(name)
    if match is None:
        return None
    base = match["base"]
    if base not in BROKER_SETTINGS:
        base = next((suffix for suffix in _BASES_BEHIND_A_MECHANISM if base.endswith("." + suffix)), base)
    return BROKER_SETTINGS.get(base)


def _given_cluster_wide(dynamic: DynamicLayers) -> dict[str, Given]:
    place = "set cluster-wide while running"
    return {name: Given(text, Source.CLUSTER_WIDE, place) for name, text in dynamic.cluster_wide.items()}


def _given_per_broker(dynamic: DynamicLayers) -> dict[str, Given]:
    place = "set for this broker while running"
    return {name: Given(text, Source.PER_BROKER, place) for name, text in dynamic.per_broker.items()}


def _parse(setting: Setting, name: str, given: Given) -> Value:
    try:
        return setting.parse(given.text)
    except BadValueError as error:
        shown = HIDDEN if setting.is_secret else trim(given.text)
        raise ConfigError(f"{given.name or name}={shown} ({given.place}): {error}") from None


def _whole(value: Value | None) -> int:
    assert isinstance(value, int)
    return value


@cache
def _defaults(embedded_store: bool) -> Mapping[str, Value | None]:
    return MappingProxyType({name: setting.default_value(embedded_store) for name, setting in BROKER_SETTINGS.items()})
