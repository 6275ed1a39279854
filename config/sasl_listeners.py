"""The SASL mechanisms of the broker's listeners, and the checks of SASL settings across the whole configuration.

**Why.** Kafka ignores a SASL setting for a listener that does not exist or has no SASL. The listener that the operator
meant would stay open, so such a setting refuses the start here.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .config import Config
from .config_error import ConfigError
from .jaas import JaasEntry, JaasError, parse_jaas_file
from .listener_security import ListenerSecurity
from .listeners import has_login
from .sasl_mechanisms import MechanismOptions, mechanism_options
from .setting import ACTED_ON

__all__ = ["JAAS_FILE", "check_sasl", "mechanisms_of_listener"]

_OF_LISTENER = re.compile(r"listener\.name\.(?P<listener>[^.]*)\.(?:(?P<mechanism>[^.]*)\.)?(?P<setting>sasl\..*)")
_OF_SASL = ("sasl.", "connections.max.reauth.ms")
JAAS_FILE = "pybroker.sasl.jaas.file"
_MOST_BYTES = 1024 * 1024
_JAAS = "sasl.jaas.config"
_BETWEEN_BROKERS = "sasl.mechanism.inter.broker.protocol"
_BEHIND_A_MECHANISM = (
    _JAAS,
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)


def check_sasl(config: Config) -> None:
    """Raises ConfigError for a contradiction, a missing login module, and all that cannot be served."""
    protected = {each.name for each in config.listeners() if has_login(each.security_protocol)}
    if not protected:
        _check_unused(config)
    _check_places(config, protected)
    for name in sorted(protected):
        mechanisms = mechanisms_of_listener(config, ListenerSecurity.of(config, name))
        if name == config.inter_broker_listener_name and not config.uses_embedded_store:
            _check_between_brokers(config, name, mechanisms)


def mechanisms_of_listener(config: Config, security: ListenerSecurity) -> dict[str, MechanismOptions]:
    """The mechanisms of a listener by name. The JAAS file is read each time. Raises ConfigError."""
    return mechanism_options(
        security, _sections(config), allows_plain_without_tls=config.boolean("pybroker.sasl.plain.without.tls")
    )


def _sections(config: Config) -> Mapping[str, Sequence[JaasEntry]] | None:
    path = config.optional_string(JAAS_FILE)
    if path is None:
        return None
    try:
        return parse_jaas_file(_read(Path(path)))
    except OSError as error:
        raise ConfigError(f"{config.named(JAAS_FILE)}: {path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{config.named(JAAS_FILE)}: {path} is not UTF-8") from None
    except JaasError as error:
        raise ConfigError(f"{config.named(JAAS_FILE)}: {path}: {error}") from None


def _read(path: Path) -> str:
    """Raises OSError, UnicodeDecodeError and JaasError. The file is read several times, so it cannot be a pipe."""
    if path.exists() and not path.is_file():
        raise JaasError("it is not a file")
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise JaasError(f"it has more than {_MOST_BYTES} bytes")
    return data.decode("utf-8-sig")


def _check_unused(config: Config) -> None:
    """A SASL setting without a listener that has SASL."""
    for name in config.given:
        setting = config.setting(name)
        if setting is None or setting.support is not ACTED_ON or not config.differs(name):
            continue
        if name.startswith(_OF_SASL) and name in config.static:
            raise ConfigError(
                f"{config.shown(name)} has no effect, because no listener uses SASL_PLAINTEXT or SASL_SSL; set "
                "listeners, or remove it"
            )


def _check_places(config: Config, protected: set[str]) -> None:
    """The names of settings for single listeners, and settings that have an effect only for a mechanism."""
    if config.optional_string("sasl.client.callback.handler.class") is not None:
        raise ConfigError(f"{config.named('sasl.client.callback.handler.class')}: no class can be loaded; remove it")
    for name in _BEHIND_A_MECHANISM:
        if config.is_given(name):
            example = f"listener.name.<listener>.<mechanism>.{name}"
            raise ConfigError(f"{config.named(name)} has no effect for all listeners at once; write {example}")
    for name in config.given:
        found = _OF_LISTENER.fullmatch(name)
        if found is None or name not in config.static:
            continue  # a dynamic setting may be older than the listeners
        if found["listener"].upper() not in protected:
            raise ConfigError(
                f"{config.given[name].place}: {name} has no effect, because no listener "
                f"{found['listener'].upper()} uses SASL_PLAINTEXT or SASL_SSL; correct the name, or remove it"
            )
        if found["mechanism"] is None and found["setting"] in _BEHIND_A_MECHANISM:
            example = f"listener.name.{found['listener']}.<mechanism>.{found['setting']}"
            raise ConfigError(f"{config.given[name].place}: {name} has no effect without a mechanism; write {example}")


def _check_between_brokers(config: Config, listener: str, mechanisms: Mapping[str, MechanismOptions]) -> None:
    mechanism = config.string(_BETWEEN_BROKERS)
    if mechanism not in mechanisms:
        raise ConfigError(
            f"{config.shown(_BETWEEN_BROKERS)}: must be one of the mechanisms of listener {listener}, over which "
            f"brokers connect to each other: {', '.join(mechanisms)}"
        )
