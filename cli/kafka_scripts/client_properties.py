"""Settings of a script's client, from its options, its properties and its file of properties."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...client.admin_cluster import AdminCluster
from ...client.client_settings import take_client_settings
from ...client.given_options import GivenOptions, OptionError
from ...config.config_error import ConfigError
from ...config.properties import read_properties
from .script_cluster import warn_of_unknown
from .script_parser import UsageError

__all__ = ["client_of", "given_properties", "pairs_of"]

_RETRY_MS = 60_000


def pairs_of(texts: Iterable[str]) -> dict[str, str]:
    """Texts such as ``name=value`` (Kafka: parseKeyValueArgs); a missing value is empty. Raises UsageError."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name:
            raise UsageError(f"Invalid command line properties: {text}")
        found[name] = value
    return found


def given_properties(file: Path | None, properties: Mapping[str, str], refused: Iterable[str]) -> dict[str, str]:
    """The properties of the file and those beside it. Raises CommandError for one that this script cannot honour."""
    given: dict[str, str] = {}
    if file is not None:
        try:
            given = {name: found.value for name, found in read_properties(file).items()}
        except ConfigError as error:
            raise CommandError(str(error), BAD_INPUT) from None
    given |= properties
    for name in refused:
        if name in given:
            raise CommandError(f"the property {name} is not available without a JVM", BAD_INPUT)
    return given


def client_of(servers: str, given: Mapping[str, str], client_id: str) -> AdminCluster:
    """A client of the cluster with these properties; those of other kinds are passed over. Raises CommandError."""
    warn_of_unknown(given)
    try:
        settings = take_client_settings(GivenOptions({**given, "bootstrap.servers": servers}), client_id)
    except OptionError as error:
        raise CommandError(str(error), BAD_INPUT) from None
    return AdminCluster(settings, _RETRY_MS)
