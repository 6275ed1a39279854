"""A service that sums up orders: it reads the topic ``orders`` and writes each customer's total to ``totals``."""

from collections import defaultdict

from kafka import KafkaConsumer, KafkaProducer


class Totals:
    """An offset is committed when the total that contains its order is written."""

    def __init__(self, bootstrap_servers: str, group: str = "totals") -> None:
        self._totals: dict[bytes, int] = defaultdict(int)
        self._producer = KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all", retry_backoff_ms=10)
        self._consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )

    def work(self, timeout_ms: int = 500) -> int:
        """Handle the orders that are there; return their number."""
        orders = [record for batch in self._consumer.poll(timeout_ms).values() for record in batch]
        for order in orders:
            self._totals[order.key] += int(order.value)
            self._producer.send("totals", str(self._totals[order.key]).encode(), key=order.key).get(10)
        if orders:
            self._consumer.commit()
        return len(orders)

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()
