"""Settings that Kafka does not have."""

from ..checks import NotEmpty, OneOf, at_least
from ..setting import ACTED_ON, LOW, MEDIUM, READ_ONLY, Setting
from ..values import INT, LONG, STRING

SETTINGS = (
    Setting(
        "metadata.store.path",
        STRING,
        None,
        NotEmpty(),
        MEDIUM,
        READ_ONLY,
        ACTED_ON,
        "File of the embedded metadata store; without it __pybroker_metadata.db in the first log directory.",
    ),
    Setting(
        "pybroker.record.validation",
        STRING,
        "header",
        OneOf("header", "full"),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "How far a produced batch is checked: its header and checksum, or every record in it as Kafka does.",
    ),
    # What bounds memory where Kafka has no bound: docs/limits.md.
    Setting(
        "pybroker.batch.max.decompressed.bytes",
        LONG,
        "268435456",
        at_least(1),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "Largest size that a compressed batch may have when it is unpacked to look at its records.",
    ),
    Setting(
        "pybroker.fetch.sessions.max.partitions",
        INT,
        "200000",
        at_least(0),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "Partitions that all incremental fetch sessions together remember; beyond it no session is opened.",
    ),
    Setting(
        "pybroker.groups.max.bytes",
        LONG,
        "134217728",
        at_least(1),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "Memory that all groups together may take, with their members and what these say of themselves.",
    ),
    Setting(
        "pybroker.producer.ids.max.per.partition",
        INT,
        "10000",
        at_least(1),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "Idempotent producers that a partition remembers; with more, those silent for longest are forgotten.",
    ),
    Setting(
        "pybroker.request.max.elements",
        INT,
        "100000",
        at_least(1),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "Elements that the arrays of a request may have, all together; more close the connection.",
    ),
    Setting(
        "pybroker.unsent.max.bytes",
        LONG,
        "268435456",
        at_least(1),
        LOW,
        READ_ONLY,
        ACTED_ON,
        "Bytes of answers kept for clients that do not read them; beyond it the slowest of them are hung up on.",
    ),
)
