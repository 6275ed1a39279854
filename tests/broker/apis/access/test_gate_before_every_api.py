"""No request reaches its handler past the gate of its connection: neither of any API, nor by a codec of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pybroker.broker.apis.records.produce_template import ProduceTemplates, SingleBatchRequest
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.network.frame_gate import GateReply
from pybroker.broker.network.listener import Listeners
from pybroker.broker.network.settings import Endpoint, NetworkSettings
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.requests.served_versions import OWN_VERSIONS
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from support.clients.wire_frames import request_frame
from support.in_process.network_peer import Peer, until
from support.in_process.scripted_gate import ScriptedGate

PRODUCE_VERSION = 9


class Recorder:
    """The handlers of all APIs. Each answers with an empty message; Produce learns templates, as its real handler."""

    def __init__(self) -> None:
        self.called: list[ApiKey] = []
        self.single_batches = 0
        self.table = {key: self._handler(key) for key in ApiKey}
        self.table[ApiKey.PRODUCE] = _Produce(self)

    def _handler(self, key: ApiKey) -> Any:
        def handle(_context: RequestContext, _request: Message) -> Any:
            self.called.append(key)
            return API_SPECS[key].response_type()()

        return handle


class _Produce:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def request_codec(self, version: int) -> ProduceTemplates:
        return ProduceTemplates(version)

    def __call__(self, _context: RequestContext, request: Any) -> ProduceResponse:
        self._recorder.called.append(ApiKey.PRODUCE)
        self._recorder.single_batches += isinstance(request, SingleBatchRequest)
        slots = [PartitionProduceResponse(index=0)]
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=slots)])


@asynccontextmanager
async def gated(recorder: Recorder) -> AsyncIterator[tuple[Peer, list[ScriptedGate]]]:
    gates: list[ScriptedGate] = []

    def new_gate(info: Any) -> ScriptedGate:
        gates.append(ScriptedGate(info))
        return gates[-1]

    listeners = Listeners(NetworkSettings(), Dispatcher(recorder.table), clock_ms=lambda: 0)
    endpoint = Endpoint("CLIENTS", "127.0.0.1", 0, "SASL_PLAINTEXT", EndpointSecurity(new_gate=new_gate))
    (opened,) = await listeners.open([endpoint])
    peer = await Peer.connect(opened)
    await until(lambda: bool(gates))
    try:
        yield peer, gates
    finally:
        await peer.close()
        await listeners.close(0)


def frame_of(key: ApiKey) -> bytes:
    spec = API_SPECS[key]
    return request_frame(spec.request_type()(), OWN_VERSIONS.accepted[key].last, 7, "c")


def produce_frame() -> bytes:
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=b"\0" * 70)])]
    return request_frame(ProduceRequest(acks=1, timeout_ms=5, topic_data=data), PRODUCE_VERSION, 7, "c")


@pytest.mark.parametrize("key", ApiKey)
async def test_a_closed_gate_keeps_each_api_from_its_handler(key: ApiKey) -> None:
    recorder = Recorder()
    async with gated(recorder) as (peer, gates):
        gates[0].answer = lambda _frame: GateReply([b"\0\0\0\1no"])
        peer.send(frame_of(key))
        assert await peer.answer() == (1, b"no")
    assert recorder.called == []


@pytest.mark.parametrize("key", ApiKey)
async def test_each_api_passes_the_gate_before_its_handler(key: ApiKey) -> None:
    recorder = Recorder()
    async with gated(recorder) as (peer, gates):
        called_before: list[int] = []

        def passes(_frame: bytes) -> None:
            called_before.append(len(recorder.called))

        gates[0].answer = passes
        peer.send(frame_of(key))
        assert (await peer.answer())[0] == 7
        assert gates[0].seen == [frame_of(key)[4:]]
        assert called_before == [0]
    assert recorder.called == [key]


async def test_a_produce_request_that_a_template_decodes_passes_the_gate_too() -> None:
    recorder = Recorder()
    async with gated(recorder) as (peer, gates):
        peer.send(produce_frame(), produce_frame())
        assert await peer.answers(2) == [7, 7]
        assert recorder.single_batches == 1
        assert gates[0].seen == [produce_frame()[4:]] * 2
        gates[0].answer = lambda _frame: GateReply([b"\0\0\0\1no"])
        peer.send(produce_frame())
        assert await peer.answer() == (1, b"no")
    assert recorder.called == [ApiKey.PRODUCE] * 2
