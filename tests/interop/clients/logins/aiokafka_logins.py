"""The command `logins` of ../README.md, by aiokafka."""

import asyncio
import ssl

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from support.security.login_rows import PARTITIONS, RECORDS, Row, use_each


class Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, value: str) -> None:
        self._value = value

    async def token(self) -> str:
        return self._value


def settings(row: Row) -> dict[str, object]:
    common: dict[str, object] = {"bootstrap_servers": row.servers, "security_protocol": row.protocol}
    if row.uses_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(row.authority)
        if row.certificate:
            context.load_cert_chain(row.certificate)
        common |= {"ssl_context": context}
    if row.mechanism == "OAUTHBEARER":
        return common | {"sasl_mechanism": row.mechanism, "sasl_oauth_token_provider": Token(row.secret)}
    if row.mechanism:
        common |= {"sasl_mechanism": row.mechanism}
        common |= {"sasl_plain_username": row.user, "sasl_plain_password": row.secret}
    return common


async def administer(row: Row) -> int:
    """Creates the topic; returns the number of its partitions."""
    admin = AIOKafkaAdminClient(**settings(row))
    try:
        await admin.start()
        await admin.create_topics([NewTopic(row.topic, PARTITIONS, 1)])
        (described,) = await admin.describe_topics([row.topic])
        return len(described["partitions"])
    finally:
        await admin.close()


async def produce(row: Row) -> None:
    async with AIOKafkaProducer(**settings(row), transactional_id=row.topic) as producer, producer.transaction():
        for value in RECORDS:
            await producer.send(row.topic, value.encode())


async def consume(row: Row) -> list[str]:
    consumer = AIOKafkaConsumer(
        row.topic,
        **settings(row),
        group_id=row.topic,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    async with consumer:
        return sorted([(await consumer.getone()).value.decode() for _ in RECORDS])


async def use(row: Row) -> dict[str, object]:
    partitions = await administer(row)
    await produce(row)
    return {"partitions": partitions, "values": await consume(row)}


use_each(lambda row: asyncio.run(use(row)))
