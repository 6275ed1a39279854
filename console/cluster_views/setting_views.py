"""Settings of topics and brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.errors import KafkaError, error_for
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

TOPIC, BROKER = 2, 4
IN_LISTS = ("cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas")
_SOURCES = {
    1: "dynamic_topic",
    2: "dynamic_broker",
    3: "dynamic_default_broker",
    4: "static_broker",
    5: "default",
    6: "dynamic_logger",
}
_TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")


async def settings_of(cluster: AsyncCluster, kind: int, name: str) -> list[dict[str, Any]]:
    """The settings of a topic, or of a broker, which itself must be asked. Raises KafkaError."""
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    answer = await (cluster.ask_broker(int(name), request) if kind == BROKER else cluster.ask_any(request))
    (result,) = answer.results
    if result.error_code:
        raise error_for(result.error_code, f"settings of {name}: {result.error_message or 'refused'}")
    return [_setting(each) for each in sorted(result.configs, key=lambda each: each.name)]


class ListedSettings(NamedTuple):
    """The settings of a topic that lists show. A limit of None: there is none, or it is not known."""

    cleanup_policy: str | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    min_isr: int = 1

    @classmethod
    def of(cls, settings: Mapping[str, str | None]) -> ListedSettings:
        """Reads the settings by Kafka's names."""
        return cls(
            settings.get("cleanup.policy"),
            _limit(settings.get("retention.ms")),
            _limit(settings.get("retention.bytes")),
            int(settings.get("min.insync.replicas") or 1),
        )


async def settings_in_lists(cluster: AsyncCluster, topics: Iterable[str]) -> dict[str, ListedSettings]:
    """The settings that lists show, by topic; topics whose settings are refused are left out."""
    resources = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=list(IN_LISTS))
        for name in topics
    ]
    if not resources:
        return {}
    try:
        answer = await cluster.ask_any(DescribeConfigsRequest(resources=resources))
    except KafkaError:
        return {}
    found = {}
    shared: dict[ListedSettings, ListedSettings] = {}  # most topics have the same
    for result in answer.results:
        if not result.error_code:
            settings = ListedSettings.of({each.name: each.value for each in result.configs})
            found[result.resource_name] = shared.setdefault(settings, settings)
    return found


def _setting(found: Any) -> dict[str, Any]:
    synonyms = [
        {"name": each.name, "value": each.value, "source": _SOURCES.get(each.source, "default")}
        for each in found.synonyms
    ]
    defaults = [each["value"] for each in synonyms if each["source"] == "default"]
    return {
        "name": found.name,
        "value": None if found.is_sensitive else found.value,
        "source": _SOURCES.get(found.config_source, "default"),
        "default": None if found.is_sensitive or not defaults else defaults[-1],
        "is_sensitive": found.is_sensitive,
        "is_read_only": found.read_only,
        "type": _TYPES[found.config_type] if 0 <= found.config_type < len(_TYPES) else "unknown",
        "doc": found.documentation or None,
        "synonyms": [] if found.is_sensitive else synonyms,
    }


def _limit(text: str | None) -> int | None:
    return None if text is None or not text.lstrip("-").isdigit() or int(text) < 0 else int(text)
