"""The fixtures together with pytest-xdist, pytest-asyncio, anyio, trio and unittest, in runs of pytest."""

from importlib.util import find_spec

import pytest
from support.plugin_runs import run_inside, run_outside

ASYNCIO = """
    import asyncio
    import pytest
    @pytest.mark.asyncio
    async def test_aiokafka(kafka_broker, kafka_topic, kafka_group):
        async with kafka_broker.aio_producer() as producer:
            await producer.send_and_wait(kafka_topic, b"x")
        consumer = kafka_broker.aio_consumer(kafka_topic, group_id=kafka_group, enable_auto_commit=False)
        async with consumer:
            assigned = asyncio.ensure_future(kafka_broker.aio.wait_assigned(kafka_group))
            assert (await consumer.getone()).value == b"x"
            await assigned
            await consumer.commit()
            await kafka_broker.aio.wait_committed(kafka_group, kafka_topic, 0, 1)
        await kafka_broker.aio.append(kafka_topic, b"y")
        assert [each.value for each in await kafka_broker.aio.wait_records(kafka_topic, 2)] == [b"x", b"y"]
        assert kafka_broker.lag(kafka_group) == 1
    @pytest.mark.asyncio
    async def test_client_that_was_not_stopped(kafka_broker, kafka_topic):
        producer = kafka_broker.aio_producer()
        await producer.start()
"""
ANYIO = """
    import anyio
    import pytest
    @pytest.fixture(params=[BACKENDS])
    def anyio_backend(request):
        return request.param
    @pytest.mark.anyio
    async def test_in_threads(kafka_broker, kafka_topic):
        found = []
        async def wait():
            found.extend(await anyio.to_thread.run_sync(kafka_broker.wait_records, kafka_topic, 1))
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.to_thread.run_sync(kafka_broker.append, kafka_topic, b"x")
        assert found[0].value == b"x"
        await kafka_broker.aio.append(kafka_topic, b"y")
        assert len(await kafka_broker.aio.wait_records(kafka_topic, 2)) == 2
        with anyio.move_on_after(0.01) as scope:
            await kafka_broker.aio.wait_records(kafka_topic, 3)
        assert scope.cancelled_caught
"""
UNITTEST = """
    import unittest
    import pytest
    class Tests(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def take_broker(self, kafka_broker, kafka_topic):
            self.broker, self.topic = kafka_broker, kafka_topic
        def test_records(self):
            self.broker.append(self.topic, b"x")
            self.assertEqual(len(self.broker.records(self.topic)), 1)
    @pytest.mark.usefixtures("kafka_broker_session")
    class AsyncTests(unittest.IsolatedAsyncioTestCase):
        @pytest.fixture(autouse=True)
        def take_broker(self, kafka_broker):
            self.broker = kafka_broker
        async def test_records(self):
            await self.broker.aio.append("t", b"x")
            self.assertEqual(len(await self.broker.aio.records("t")), 1)
"""


def test_coroutines_use_the_broker_under_pytest_asyncio(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ASYNCIO)
    run_inside(pytester).assert_outcomes(passed=2)


def test_coroutines_use_the_broker_under_anyio_and_trio(pytester: pytest.Pytester) -> None:
    backends = ["asyncio", *(["trio"] if find_spec("trio") else [])]
    pytester.makepyfile(ANYIO.replace("BACKENDS", ", ".join(map(repr, backends))))
    run_inside(pytester).assert_outcomes(passed=len(backends))


def test_unittest_classes_take_the_broker_from_a_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(UNITTEST)
    run_inside(pytester).assert_outcomes(passed=2)


@pytest.mark.long
def test_workers_of_xdist_have_brokers_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import os
        import pytest
        @pytest.mark.parametrize("number", range(8))
        def test_it(kafka_broker, kafka_broker_session, number, record_property):
            kafka_broker.append("t", b"x")
            assert len(kafka_broker.records("t")) == 1
            topic = os.environ["PYTEST_XDIST_WORKER"]
            kafka_broker_session.append(topic, b"x")
            assert kafka_broker_session.topics() == [topic]
    """)
    run_outside(pytester, "-n", "2").assert_outcomes(passed=8)
