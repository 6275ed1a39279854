"""Attacks with large and with thousands of unknown broker settings, also across a restart."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pybroker.broker.settings.altered_config import OperationType, ResourceType
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_configs import AlterableConfig as Replacement
from pybroker.protocol.messages.alter_configs import AlterConfigsRequest
from pybroker.protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.clients.wire_client import WireClient
from support.processes.arena import Arena
from support.processes.broker_process import BrokerProcess

from .conftest import OpenArena
from .test_frames import AT_REST_MIB

BROKER = "1001"


def altered(client: WireClient, name: str, settings: Mapping[str, str]) -> ErrorCode:
    configs = [AlterableConfig(name=key, config_operation=OperationType.SET, value=settings[key]) for key in settings]
    resource = AlterConfigsResource(resource_type=ResourceType.BROKER, resource_name=name, configs=configs)
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    return ErrorCode(answer.responses[0].error_code)


def replaced(client: WireClient, name: str, settings: Mapping[str, str]) -> ErrorCode:
    configs = [Replacement(name=key, value=text) for key, text in settings.items()]
    resource = ReplacedResource(resource_type=ResourceType.BROKER, resource_name=name, configs=configs)
    return ErrorCode(client.ask(AlterConfigsRequest(resources=[resource]), 2).responses[0].error_code)


def shown(client: WireClient, name: str) -> set[str]:
    """Return the setting names that DescribeConfigs reports for a broker, or for all brokers (name "")."""
    resource = DescribeConfigsResource(resource_type=ResourceType.BROKER, resource_name=name, configuration_keys=None)
    (result,) = client.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4).results
    assert result.error_code == ErrorCode.NONE, result.error_message
    return {config.name for config in result.configs}


def unknown_settings(count: int, prefix: str = "stranger") -> dict[str, str]:
    return {f"{prefix}.{number}": "5" for number in range(count)}


@pytest.mark.parametrize("name", [BROKER, ""], ids=["a broker", "all brokers"])
def test_broker_settings_over_pybroker_broker_settings_max_bytes_are_refused(open_arena: OpenArena, name: str) -> None:
    field = open_arena({"pybroker.broker.settings.max.bytes": "50000"})
    with WireClient(field.servers) as client:
        large = [altered(client, name, {f"large.{number}": "v" * 10_000}) for number in range(6)]
        assert large == [ErrorCode.NONE] * 4 + [ErrorCode.POLICY_VIOLATION] * 2
        # each setting counts 100 bytes more
        assert altered(client, name, unknown_settings(100)) is ErrorCode.POLICY_VIOLATION
        assert altered(client, name, {"large.0": "v"}) is ErrorCode.NONE
        assert altered(client, name, unknown_settings(200)) is ErrorCode.POLICY_VIOLATION
        assert altered(client, name, unknown_settings(100)) is ErrorCode.NONE
        assert replaced(client, name, unknown_settings(1000)) is ErrorCode.POLICY_VIOLATION
        assert replaced(client, name, unknown_settings(300)) is ErrorCode.NONE
    field.recovers(lines=10, mib=AT_REST_MIB + 8)


def test_thousands_of_unknown_settings_are_logged_in_one_line(field: Arena) -> None:
    with WireClient(field.servers) as client:
        assert altered(client, BROKER, unknown_settings(2000)) is ErrorCode.NONE
        assert altered(client, BROKER, unknown_settings(20_000, "more")) is ErrorCode.POLICY_VIOLATION
        assert set(unknown_settings(2000)) < shown(client, BROKER)
        assert replaced(client, BROKER, {}) is ErrorCode.NONE
    assert len(field.lines()) < 100, "\n".join(field.lines())
    field.recovers(lines=1, mib=AT_REST_MIB + 16)


def test_thousands_of_unknown_settings_are_logged_in_one_line_at_the_next_start(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            for name in (BROKER, ""):
                assert altered(client, name, unknown_settings(2000)) is ErrorCode.NONE
        assert broker.stop() == 0
        before = len(broker.lines)
        broker.start()
        told = [line for line in broker.lines[before:] if "stranger" in line]
        assert len(told) == 1, told
        with WireClient(broker.bootstrap_servers) as client:
            assert set(unknown_settings(2000)) < shown(client, BROKER)
