"""Settings that Kafka does not have."""

from ..checks import NotEmpty, OneOf
from ..setting import ACTED_ON, LOW, MEDIUM, READ_ONLY, Setting
from ..values import STRING

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
)
