"""Tests of `app.py`. Run them here, in a checkout of pybroker, with `pip install ../.. pytest fastapi httpx aiokafka
anyio` and `pytest`."""

import json
from collections.abc import AsyncIterator

import pytest
from app import app, lifespan
from httpx import ASGITransport, AsyncClient

pytestmark = [pytest.mark.anyio, pytest.mark.kafka(topics={"orders": 1})]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client(kafka_broker, monkeypatch) -> AsyncIterator[AsyncClient]:
    monkeypatch.setenv("KAFKA", kafka_broker.bootstrap_servers)
    async with lifespan(app), AsyncClient(transport=ASGITransport(app), base_url="http://test") as client:
        yield client


async def test_order_is_published(kafka_broker, client):
    answer = await client.post("/orders", json={"customer": "ann", "amount": 3})
    assert answer.json() == {"partition": 0, "offset": 0}
    (record,) = await kafka_broker.aio.wait_records("orders", 1)
    assert record.key == b"ann"
    assert json.loads(record.value) == {"customer": "ann", "amount": 3}


async def test_order_is_published_when_the_leader_moves(kafka_broker, client):
    with kafka_broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2) as fault:
        answer = await client.post("/orders", json={"customer": "ann", "amount": 3})
    assert answer.status_code == 201
    assert fault.fired == 2
