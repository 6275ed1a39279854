"""The command `logins` of ../README.md, by kafka-python."""

import os
import sys

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.net.sasl.oauth import AbstractTokenProvider
from support.security.login_rows import PARTITIONS, RECORDS, Row, use_each

GIVES_UP_MS = 3000


class Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, value: str) -> None:
        super().__init__()
        self._value = value

    def token(self) -> str:
        return self._value


def settings(row: Row) -> dict[str, object]:
    common: dict[str, object] = {"bootstrap_servers": row.servers, "security_protocol": row.protocol}
    if row.uses_tls:
        common |= {"ssl_cafile": row.authority, "ssl_certfile": row.certificate or None}
    if row.mechanism == "OAUTHBEARER":
        return common | {"sasl_mechanism": row.mechanism, "sasl_oauth_token_provider": Token(row.secret)}
    if row.mechanism:
        common |= {"sasl_mechanism": row.mechanism}
        common |= {"sasl_plain_username": row.user, "sasl_plain_password": row.secret}
    return common


def use(row: Row) -> dict[str, object]:
    common = settings(row)
    admin = KafkaAdminClient(**common, **({"bootstrap_timeout_ms": GIVES_UP_MS} if row.refused else {}))
    admin.create_topics([NewTopic(row.topic, PARTITIONS, 1)])
    (described,) = admin.describe_topics([row.topic])
    admin.close()

    producer = KafkaProducer(**common, transactional_id=row.topic)
    producer.init_transactions()
    producer.begin_transaction()
    for value in RECORDS:
        producer.send(row.topic, value.encode())
    producer.commit_transaction()
    producer.close()

    consumer = KafkaConsumer(
        row.topic, **common, group_id=row.topic, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    values = sorted(next(consumer).value.decode() for _ in RECORDS)
    consumer.commit()
    consumer.close()
    return {"partitions": len(described["partitions"]), "values": values}


use_each(use)
sys.stdout.flush()
os._exit(0)  # threads of clients that could not log in may still run
