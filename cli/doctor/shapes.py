"""Shapes of the JSON that ``pybroker doctor`` prints, and of the facts that its checks judge."""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Literal

from ...base.frozen import frozen
from ...protocol.messages.metadata import MetadataResponse
from ..cluster.shapes import LogDirectory
from ..txns.shapes import HangingTransaction

__all__ = [
    "BrokerFacts",
    "ClockFacts",
    "Diagnosis",
    "DirectoryFacts",
    "ExpiringGroup",
    "Facts",
    "HostFacts",
    "PortFacts",
    "PortKind",
    "Unknown",
    "Verdict",
]

Verdict = Literal["ok", "warn", "FAIL", "skipped"]


@frozen(kw_only=True)
class Diagnosis:
    """The result of a check."""

    check: Annotated[str, "its number, such as D03"]
    title: str
    verdict: Annotated[Verdict, "skipped: what the check needs to know was not found out"]
    finding: Annotated[str, "one line"]
    remedy: Annotated[str | None, "one line; null: there is nothing to do"]


class PortKind(Enum):
    """The protocol that a port speaks."""

    PLAIN = "Kafka's protocol in plain text"
    TLS = "Kafka's protocol in TLS"
    CONTROLLER = "the protocol of KRaft controllers, which is not for clients"
    HTTP = "HTTP"
    HTTPS = "HTTPS"
    UNKNOWN = "a protocol that is not Kafka's, or nothing"


@frozen
class Unknown:
    """A fact that could not be found out, and why."""

    reason: str


@frozen(kw_only=True)
class PortFacts:
    """A port as this machine reaches it.

    Attributes:
        resolved: the IP addresses of its host.
        failure: why it was not reached; None: it was.
        kind: the protocol that it speaks; None: it was not reached.
        mechanisms: the SASL mechanisms that it offers; None: it wants no login, or did not say.
        versions: the oldest and the newest version of each API, by the key of the API.
        certificate_failure: why the client refuses its certificate; None: it does not, or uses no TLS.
        certificate_days: for how many days its certificate is still valid.
    """

    host: str
    port: int
    resolved: tuple[str, ...] = ()
    failure: str | None = None
    connect_ms: float = 0.0
    kind: PortKind | None = None
    mechanisms: tuple[str, ...] | None = None
    versions: Mapping[int, tuple[int, int]]
    certificate_failure: str | None = None
    certificate_days: float | None = None

    @property
    def address(self) -> str:
        """The address as people write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@frozen(kw_only=True)
class BrokerFacts:
    """A broker at its advertised address. ``failure``: why it did not tell the id of its cluster."""

    broker: int
    port: PortFacts
    cluster_id: str | None = None
    failure: str | None = None


@frozen(kw_only=True)
class ClockFacts:
    """The clock of a pybroker: by so much it is ahead of this machine's. ``within_ms``: how exact that is."""

    broker: int
    ahead_ms: float
    within_ms: float


@frozen(kw_only=True)
class ExpiringGroup:
    """A group without members whose offsets may expire soon. ``left_ms``: at the earliest; 0: at any moment."""

    group: str
    left_ms: int


@frozen(kw_only=True)
class DirectoryFacts:
    """A log directory on this machine.

    Attributes:
        failure: why it was not examined; None: it was.
        kind: of its file system, as ext4 or tmpfs; None: the system does not tell.
        fsync_ms: how long each of several small writes took to reach the disk, the shortest first.
    """

    directory: str
    failure: str | None = None
    kind: str | None = None
    free: int = 0
    total: int = 0
    fsync_ms: tuple[float, ...] = ()


@frozen(kw_only=True)
class HostFacts:
    """A broker's machine, as its settings file and this machine tell.

    Attributes:
        refusal: why a broker would not start with the file; None: it would.
        notices: settings that have no effect.
        open_files: the hard limit of this shell; None: there is none.
        log_files: the files of the logs in the directories.
    """

    file: str
    refusal: str | None = None
    notices: tuple[str, ...] = ()
    open_files: int | None = None
    log_files: int = 0
    directories: tuple[DirectoryFacts, ...] = ()


@frozen(kw_only=True)
class Facts:
    """All that the checks judge.

    Attributes:
        wants_tls: whether the settings of the client ask for TLS.
        mechanism: the SASL mechanism of the client; None: it does not log in.
        ports: the addresses that the client begins with.
        min_isr: min.insync.replicas by topic.
        hides_topics: the user sees no topic, and may not describe the cluster.
        offsets_kept_minutes: offsets.retention.minutes.
        future: partitions with a record whose timestamp is over an hour ahead.
    """

    wants_tls: bool
    mechanism: str | None
    ports: tuple[PortFacts, ...]
    metadata: MetadataResponse | Unknown
    is_login_refused: bool = False
    hides_topics: bool = False
    brokers: tuple[BrokerFacts, ...] = ()
    min_isr: Mapping[str, int] | Unknown
    directories: tuple[LogDirectory, ...] | Unknown
    hanging: tuple[HangingTransaction, ...] | Unknown
    offsets_kept_minutes: int | Unknown
    clocks: tuple[ClockFacts, ...] | Unknown
    future: tuple[str, ...] | Unknown
    expiring: tuple[ExpiringGroup, ...] | Unknown
    host: HostFacts | Unknown
