"""A made-up cluster in the shapes of the console's API, for tests of the pages without a broker."""

from support.console.fake_records import FakeRecords, Json, now_ms

HOUR_MS = 3_600_000
DAY_MS = 86_400_000


def history(level: float, points: int = 120) -> Json:
    """Traffic of the last hour: a slow wave around a level, and a gap in the beginning."""
    wave = [level * (1 + ((step * 37) % 23 - 11) / 40) for step in range(points)]
    measured: list[float | None] = [None] * 4 + [round(value, 1) for value in wave[4:]]
    return {
        "step_ms": HOUR_MS // points,
        "end_ms": now_ms(),
        "messages_in_per_s": [value and value / 250 for value in measured],
        "bytes_in_per_s": measured,
        "bytes_out_per_s": [value and value * 2.4 for value in measured],
    }


def rates(level: float) -> Json:
    return {
        "messages_in_per_s": level / 250,
        "bytes_in_per_s": level,
        "bytes_out_per_s": level * 2.4,
        "requests_per_s": level / 9000,
    }


def topic_row(name: str, number: int) -> Json:
    level = 40_000.0 * (number % 17)
    return {
        "topic": name,
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAA",
        "is_internal": name.startswith("__"),
        "partitions": 1 + number % 24,
        "replication_factor": 3,
        "offline_partitions": 0,
        "under_replicated_partitions": 2 if number % 13 == 5 else 0,
        "under_min_isr_partitions": 0,
        "leaders_here": 1,
        "size_bytes": (number * 7_919_000_011) % (1 << 38),
        "size_on_disk_bytes": (number * 7_919_000_011) % (1 << 38) * 3,
        "records": (number * 104_729) % 9_000_000,
        "messages_in_per_s": level / 250,
        "bytes_in_per_s": level,
        "bytes_out_per_s": level * 2.4,
        "cleanup_policy": ("delete", "compact", "compact,delete")[number % 3],
        "retention_ms": (7 * DAY_MS, None, DAY_MS)[number % 3],
        "retention_bytes": (None, None, 4 << 30)[number % 3],
        "max_lag_seconds": (None, 0.4, 41.0, 391.0)[number % 4],
        "max_lag": (None, 3, 5_000, 412_008)[number % 4],
    }


VERDICTS = ("ok", "catching_up", "falling_behind", "stalled", "stopped", "rewound")


def group_row(name: str, number: int) -> Json:
    verdict = VERDICTS[number % 6]
    return {
        "group": name,
        "state": "PreparingRebalance" if number % 6 == 3 else "Empty" if number % 6 == 4 else "Stable",
        "protocol_type": "consumer",
        "protocol": "range",
        "generation": 1841 + number,
        "coordinator": 1 + number % 3,
        "members": 0 if number % 6 == 4 else 3,
        "verdict": verdict,
        "verdict_text": None if verdict == "ok" else f"falls behind (orders-{number} and 5 more)",
        "lag": number * 45_001,
        "max_lag": number * 45_001,
        "max_lag_seconds": number * 13.1,
        "seconds_to_catch_up": 100.0 if verdict == "catching_up" else None,
        "topics": 2,
        "partitions": 5,
        "last_commit_ms": now_ms() - 1000,
        "rebalances": 14,
    }


class FakeCluster(FakeRecords):
    """Answers of a cluster of three brokers. Names of topics, groups and clients are chosen by the test.

    `texts` become keys, values, header names, header values and all other texts that strangers choose.
    """

    def __init__(
        self,
        topics: list[str] | None = None,
        groups: list[str] | None = None,
        texts: list[str] | None = None,
        writes: bool = False,
    ) -> None:
        super().__init__(texts or [])
        usual = ["orders", "payments", "sensor.eu.raw", "sessions", "audit", "clicks", "prices.latest"]
        self.topics = topics or [*usual, "__consumer_offsets", *(f"team-{number}.events" for number in range(30))]
        self.groups = groups or ["fraud", "warehouse", "click-rollup", "billing", "nightly-export", "search-index"]
        self.writes = writes
        self.is_plain_kafka = False

    def session(self) -> Json:
        return {
            "login": "done",
            "user": self.text(3, "ana"),
            "mechanisms": ["SCRAM-SHA-512", "PLAIN"],
            "cluster_id": "prod-eu",
            "bootstrap_servers": "kafka1:9092",
            "writes": self.writes,
            "records": True,
            "masked": [],
            "source": "v1",
            "expires_ms": None,
            "version": "0.4.0",
        }

    def cluster(self) -> Json:
        names = [self.topics[index % len(self.topics)] for index in (0, 5, 2, 3)]
        problem = {"topic": None, "partition": None, "group": None, "broker_id": None, "kind": "group_waits"}
        return {
            "cluster_id": "prod-eu",
            "controller_id": 1,
            "metadata_store": "zookeeper",
            "version": "0.4.0",
            "verdict": {
                "status": "trouble",
                "text": "1 group is stuck, 17 partitions lack a replica",
                "problems": [
                    {
                        **problem,
                        "severity": "trouble",
                        "text": f"{self.groups[-1]} waits for {self.text(0, 'billing-api-7f9c')}",
                        "group": self.groups[-1],
                    },
                    {**problem, "severity": "warning", "text": "broker 3 is 41 s behind on 17", "broker_id": 3},
                ],
            },
            "brokers": 3,
            "topics": len(self.topics),
            "partitions": 1951,
            "offline_partitions": 0,
            "under_replicated_partitions": 17,
            "under_min_isr_partitions": 0,
            "groups": len(self.groups),
            "max_lag_seconds": 391.0,
            "worst_group": self.groups[-1],
            "rates": rates(38 << 20),
            "produce_times": {"count": 10_000, "p50_ms": 0.6, "p99_ms": 3.9, "max_ms": 40.0},
            "fetch_times": {"count": 10_000, "p50_ms": 0.6, "p99_ms": 503.9, "max_ms": 540.0},
            "disk": {"size_bytes": 1 << 38, "free_bytes": 1 << 38, "total_bytes": 1 << 39, "full_in_s": 777_600.0},
            "history": history(38 << 20),
            "top_topics": [
                {
                    "topic": name,
                    "rates": rates(9e6 / (1 + rank)),
                    "history": history(9e6 / (1 + rank)),
                    "row": topic_row(name, self.topics.index(name)),
                }
                for rank, name in enumerate(dict.fromkeys(names))
            ],
            "events": [
                {**each, "times": (1, 214, 1, 3)[number % 4], "since_ms": each["time_ms"] - 3_600_000}
                for number, each in enumerate(self.events()["items"][:10])
            ],
            "told_by": [
                {
                    "broker_id": number,
                    "loop_idle": 0.69,
                    "memory_bytes": 71 << 20,
                    "disk": {"size_bytes": 1 << 38, "free_bytes": 1 << 38, "total_bytes": 1 << 39, "full_in_s": None},
                    "produce_times": {"count": 10_000, "p50_ms": 0.6, "p99_ms": 1.9 + number, "max_ms": 40.0},
                }
                for number in (1, 2, 3)
            ],
            "cli": "kafka-broker-api-versions.sh --bootstrap-server kafka1:9092",
        }

    def brokers(self) -> Json:
        items = [
            {
                "id": number,
                "endpoints": [{"listener": "PLAINTEXT", "host": self.text(number, f"kafka{number}"), "port": 9092}],
                "rack": self.text(number + 1, "eu-1"),
                "is_controller": number == 1,
                "is_local": True,
                "leaders": 650,
                "replicas": 1951,
                "out_of_sync": 17 if number == 3 else 0,
                "preferred_leaders_elsewhere": 0,
            }
            for number in (1, 2, 3)
        ]
        return {"total": 3, "items": items, "cli": "kafka-broker-api-versions.sh --bootstrap-server kafka1:9092"}

    def broker(self, number: int) -> Json:
        apis = ["Produce", "Fetch", "Metadata", "OffsetCommit", "Heartbeat", "FindCoordinator", "ListOffsets"]
        local = {
            "broker_epoch": 4311,
            "controller_epoch": 7,
            "started_ms": now_ms() - 9 * DAY_MS,
            "uptime_ms": 9 * DAY_MS + 7_000_000,
            "version": "0.4.0",
            "process": {
                "pid": 7,
                "rss_bytes": 71 << 20,
                "open_files": 912,
                "max_open_files": 1 << 20,
                "threads": 9,
                "cpu_s": 81.0,
            },
            "loop_idle": 0.69,
            "pool_idle": 0.98,
            "log_directories": [
                {
                    "path": self.text(4, "/var/lib/kafka/data"),
                    "is_online": True,
                    "error": None,
                    "partitions": 1951,
                    "size_bytes": 400 << 30,
                    "free_bytes": 256 << 30,
                    "total_bytes": 656 << 30,
                }
            ],
            "listeners": [
                {"name": "PLAINTEXT", "host": "kafka1", "port": 9092, "security": "PLAINTEXT", "connections": 212}
            ],
            "apis": [
                {
                    "api": api,
                    "requests": 9_000_000 // (1 + rank),
                    "errors": rank * 3,
                    "p50_ms": 0.4 + rank,
                    "p99_ms": 3.9 + 11 * rank,
                    "max_ms": 90.0,
                }
                for rank, api in enumerate(apis)
            ],
            "follower_lag": [
                {"topic": self.topics[0], "partition": part, "broker_id": 3, "lag": 12_400, "caught_up_ms_ago": ago}
                for part, ago in enumerate((100, None, 41_000))
            ],
            "rates": rates(12 << 20),
            "history": history(12 << 20),
        }
        return {"broker": self.brokers()["items"][number - 1], "local": local, "cli": "kafka-configs.sh --describe"}

    def partitions(self) -> Json:
        columns = ["topic", "partition", "leader", "leader_epoch", "replicas", "isr", "offline_replicas"]
        rows = [
            [name, part, 1 + part % 3, 5, [1, 2, 3], [1, 2, 3] if (index + part) % 9 else [1 + part % 3, 2], []]
            for index, name in enumerate(sorted(self.topics))
            for part in range(1 + index % 5)
        ]
        rows[0][2:] = [None, 6, [1, 2, 3], [3], [3]]
        return {"total": len(rows), "matched": len(rows), "columns": columns, "rows": rows}

    def topic_list(self) -> Json:
        items = [topic_row(name, number) for number, name in enumerate(self.topics)]
        return {"total": len(items), "matched": len(items), "items": items, "cli": "kafka-topics.sh --describe"}

    def topic(self, name: str) -> Json:
        row = topic_row(name, self.topics.index(name))
        partitions = [
            {
                "partition": part,
                "leader": 1 + part % 3,
                "leader_epoch": 5,
                "replicas": [1 + part % 3, 1 + (part + 1) % 3, 1 + (part + 2) % 3],
                "isr": [1 + part % 3, 1 + (part + 1) % 3] if part == 4 else [1, 2, 3],
                "offline_replicas": [],
                "adding_replicas": None,
                "removing_replicas": None,
                "is_led_here": True,
                "is_local": True,
                "start_offset": 12_004 * part,
                "end_offset": 480_222 + 12_004 * part,
                "log_end_offset": 480_222 + 12_004 * part,
                "last_stable_offset": 480_222,
                "size_bytes": 1_700_000_000,
                "segments": 2,
                "oldest_ms": now_ms() - 7 * DAY_MS,
                "log_directory": "/data",
                "followers": [{"broker_id": 1 + (part + 2) % 3, "lag": 12_400 if part == 4 else 0}],
            }
            for part in range(6)
        ]
        names = ("retention.ms", "cleanup.policy", "min.insync.replicas", "segment.bytes", "compression.type")
        return {
            "topic": row,
            "partitions": partitions,
            "settings": [self.setting(each, number) for number, each in enumerate(names)],
            "consumers": [
                {"group": group, "verdict": VERDICTS[n % 6], "members": 3, "lag": n * 4000, "lag_seconds": n * 40.0}
                for n, group in enumerate(self.groups[:20])
            ],
            "producers": [
                {
                    "partition": 0,
                    "producer_id": 4000,
                    "producer_epoch": 1,
                    "last_sequence": 88,
                    "last_timestamp_ms": now_ms(),
                    "open_transaction_start_offset": 480_001,
                    "coordinator_epoch": 3,
                }
            ],
            "producers_total": 1,
            "history": history(9e6),
            "cli": f"kafka-topics.sh --bootstrap-server kafka1:9092 --describe --topic {name}",
        }

    def setting(self, name: str, number: int) -> Json:
        return {
            "name": name,
            "value": self.text(number, "604800000"),
            "source": ("topic_config", "default_config", "static_broker_config")[number % 3],
            "default": "604800000",
            "is_sensitive": number % 11 == 10,
            "is_read_only": False,
            "type": "long",
            "doc": "How long records are kept before their segment may be deleted.",
            "synonyms": [],
        }

    def configs(self) -> Json:
        names = ["log.retention.ms", "num.io.threads", "listeners", "log.dirs", "message.max.bytes", "broker.id"]
        names += [f"some.setting.{number}" for number in range(60)]
        return {
            "settings": [self.setting(name, number) for number, name in enumerate(names)],
            "loggers": [{"name": "kafka.request.logger", "level": "WARN"}],
            "cli": "kafka-configs.sh --bootstrap-server kafka1:9092 --entity-type brokers --entity-name 1 --describe",
        }

    def group_list(self) -> Json:
        items = [group_row(name, number) for number, name in enumerate(self.groups)]
        cli = "kafka-consumer-groups.sh --describe --all-groups"
        return {"is_loading": False, "total": len(items), "matched": len(items), "items": items, "cli": cli}

    def group(self, name: str) -> Json:
        number = self.groups.index(name)
        members = [
            {
                **self.member(number, index),
                "is_leader": index == 0,
                "is_awaited": index == 1,
                "session_timeout_ms": 45_000,
                "rebalance_timeout_ms": 300_000,
                "last_heartbeat_ms": now_ms() - 800,
                "assignment": [{"topic": self.topics[0], "partitions": [index, index + 3]}],
                "lag": 31,
            }
            for index in range(3)
        ]
        offsets = [
            {
                "topic": self.topics[part % 2 % len(self.topics)],
                "partition": part,
                "committed": 88_120,
                "leader_epoch": 5,
                "metadata": self.text(part, ""),
                "commit_ms": now_ms(),
                "expire_ms": None,
                "start_offset": 0,
                "end_offset": 88_120 + 412_008 // (1 + part),
                "lag": 412_008 // (1 + part),
                "lag_seconds": 391.0 / (1 + part) ** 2,
                "verdict": VERDICTS[part % 6],
                "is_offset_lost": part == 3,
                "member_id": members[part % 3]["member_id"],
                "leader": 1,
            }
            for part in range(6)
        ]
        lag = [int(10 + max(0, step - 60) * 6800) for step in range(120)]
        return {
            "group": group_row(name, number),
            "waits_for": {
                "phase": "join",
                "since_ms": now_ms() - 252_000,
                "members": [members[1]["member_id"]],
                "until_ms": now_ms() + 48_000,
            }
            if number % 6 == 3
            else None,
            "members": members,
            "offsets": offsets,
            "history": {
                "step_ms": 30_000,
                "end_ms": now_ms(),
                "lag": lag,
                "lag_seconds": [value / 1000 for value in lag],
            },
            "cli": f"kafka-consumer-groups.sh --bootstrap-server kafka1:9092 --describe --group {name}",
        }

    def member(self, number: int, index: int) -> Json:
        """A member of the group with that number."""
        return {
            "member_id": f"{self.text(number + index, 'billing-api')}-{index}-8d1f",
            "client_id": self.text(number + index, f"billing-api-{index}"),
            "host": self.text(number + index + 1, f"10.0.4.{17 + index}"),
            "instance_id": self.text(number + index + 2, f"pod-{index}"),
        }

    def timeline(self, name: str) -> Json:
        number = self.groups.index(name)
        events = [
            {
                "time_ms": now_ms() - 240_000 - index * 200_000,
                "generation": 1841 - index,
                "kind": "rebalance" if index % 3 else "offsets_set",
                "reason": (None, "member_joined", "session_expired")[index % 3],
                "text": self.text(index, ("offsets were set", "a member joined", "the session is over")[index % 3]),
                **self.member(number, index // 3 % 2 * 2),
                "duration_ms": 45_000 if index % 3 else None,
                "waited_for": self.member(number, 1)["member_id"] if index % 3 else None,
                "waited_ms": 40_000 if index % 3 else None,
                "members": 3,
                "times": 1 + index % 2,
                "outcome": "stable" if index % 4 else "interrupted",
            }
            for index in range(14)
        ]
        return {"group": name, "events": events}

    def clients(self) -> Json:
        items = [
            {
                "client_id": self.text(number, f"billing-api-{number}"),
                "principal": self.text(number + 1, "User:billing"),
                "software": self.text(number + 2, "librdkafka 2.16"),
                "host": f"10.0.4.{number}",
                "connections": 3,
                "requests": 90_000 // (1 + number),
                "bytes_in": (9 << 30) // (1 + number),
                "bytes_out": 9 << 20,
                "throttle_ms": 4000 if number == 2 else 0,
                "last_seen_ms": now_ms(),
            }
            for number in range(32)
        ]
        return {"connections": 212, "items": items}

    def slow_requests(self) -> Json:
        items = [
            {
                "time_ms": now_ms() - number * 61_000,
                "broker_id": 1 + number % 3,
                "api": "Produce" if number % 3 else "Fetch",
                "version": 11,
                "client_id": self.text(number, f"billing-api-{number}"),
                "principal": self.text(number + 1, "User:billing"),
                "host": "10.0.4.17",
                "request_bytes": 88_000,
                "response_bytes": 120,
                "total_ms": 1900.0 + number,
                "queue_ms": 40.0,
                "local_ms": 20.0,
                "remote_ms": 1800.0 + number if number % 2 else 0.0,
                "throttle_ms": 0.0 if number % 2 else 1800.0,
                "send_ms": 40.0,
                "waited_for": self.text(number + 2, f"follower 3 of {self.topics[0]}-4 is behind by 12,400 records"),
            }
            for number in range(40)
        ]
        return {"threshold_ms": 1000, "items": items}

    def events(self) -> Json:
        texts = [
            f"group {self.groups[-1]} rebalances: session of billing-api-7f9c over",
            f"{self.topics[0]}-4: broker 3 left the ISR (41 s behind)",
            f"topic {self.topics[-1]}: retention.ms 7 d → 3 d by User:ana",
            "broker 3 is registered, epoch 4,311",
        ]
        items: list[Json] = [
            {
                "time_ms": now_ms() - number * 400_000,
                "level": ("INFO", "WARNING", "INFO", "ERROR")[number % 4],
                "event": "group-rebalances",
                "logger": "pybroker",
                "text": self.text(number, texts[number % 4]),
                "fields": {},
            }
            for number in range(12)
        ]
        return {"items": items}
