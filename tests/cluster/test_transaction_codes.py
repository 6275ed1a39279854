"""Requests about transactions get the recorded codes of Apache Kafka 3.9.1, in every state.

The same cases run against a real Kafka in `tests/interop/side_by_side/test_transaction_codes.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from interop.side_by_side.transaction_codes import code_rows
from interop.side_by_side.transaction_stage import SETTINGS, SITUATIONS, Stage
from support.in_process.broker_cluster import BrokerCluster
from support.in_process.silent_broker import SilentBroker
from support.transaction_codes import cases_in, differences_of_pybroker, recorded_cases


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[str]:
    cluster, silent = BrokerCluster(tmp_path, SETTINGS), SilentBroker()
    await cluster.start(0)
    await silent.join(cluster.zookeeper)
    yield f"127.0.0.1:{cluster[0].endpoints[0].port}"
    await cluster.close()
    await silent.leave()


async def test_transactional_requests_get_the_codes_of_kafka_in_every_state(servers: str) -> None:
    def differences() -> list[str]:
        with Stage.with_silent_broker(servers) as stage:
            return [
                difference
                for situation in SITUATIONS.values()
                for difference in differences_of_pybroker(
                    cases_in(code_rows(stage, situation)), recorded_cases(situation.name)
                )
            ]

    found = await asyncio.to_thread(differences)
    assert not found, "\n".join(found)
