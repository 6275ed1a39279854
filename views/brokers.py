"""Brokers: a row of the list, and one broker with its process, directories, listeners and APIs."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source
from .traffic import History, Rates

__all__ = [
    "ApiTimes",
    "BrokerDetail",
    "BrokerRow",
    "Brokers",
    "Directory",
    "Endpoint",
    "FollowerLag",
    "Listener",
    "LocalBroker",
    "Process",
]


@frozen(kw_only=True)
class Endpoint:
    """An address that a broker tells its clients."""

    listener: str
    host: str
    port: int


@frozen(kw_only=True)
class BrokerRow:
    """One live broker, as the controller's metadata has it."""

    id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    is_controller: bool
    is_local: Annotated[bool, "this broker"]
    leaders: Annotated[int, "partitions that it leads"]
    replicas: Annotated[int, "partitions with a replica on it"]
    out_of_sync: Annotated[int, "its replicas that are not in the ISR"]
    preferred_leaders_elsewhere: Annotated[int, "partitions that it should lead and another broker leads"]


@frozen(kw_only=True)
class Brokers:
    """The live brokers, by id."""

    source: Source
    total: int
    items: tuple[BrokerRow, ...]


@frozen(kw_only=True)
class Process:
    """The broker's process. A value is null where the operating system does not tell it."""

    pid: int
    rss_bytes: int | None
    cpu_s: float
    open_files: int | None
    max_open_files: int | None
    threads: int
    python: str


@frozen(kw_only=True)
class Directory:
    """A log directory."""

    path: str
    is_online: bool
    error: Annotated[str | None, "why it is offline"]
    partitions: int
    size_bytes: Annotated[int, "logs in it"]
    free_bytes: int | None
    total_bytes: int | None


@frozen(kw_only=True)
class Listener:
    """An address that the broker listens on."""

    name: str
    host: str
    port: int
    security: Annotated[str, "Kafka's name of the security protocol, such as SASL_SSL"]
    connections: int | None


@frozen(kw_only=True)
class ApiTimes:
    """Requests of one API since the start of the broker, with quantiles as in `Times`."""

    api: str
    requests: int
    errors: Annotated[int | None, "error codes in responses; null for the parts of Fetch"]
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@frozen(kw_only=True)
class FollowerLag:
    """A follower of a partition that this broker leads."""

    topic: str
    partition: int
    broker_id: Annotated[int, "the follower"]
    lag: Annotated[int, "records that the follower lacks"]
    caught_up_ms_ago: Annotated[int | None, "null: not caught up since this broker leads"]


@frozen(kw_only=True)
class LocalBroker:
    """The part that only the broker itself knows."""

    version: str
    broker_epoch: int
    controller_epoch: Annotated[int | None, "the latest that the broker knows"]
    started_ms: int
    uptime_ms: int
    process: Process
    loop_idle: Annotated[float | None, "share of time in which the event loop was idle"]
    pool_idle: Annotated[float | None, "share of idle workers"]
    log_directories: tuple[Directory, ...]
    listeners: tuple[Listener, ...]
    apis: Annotated[tuple[ApiTimes, ...], "the busiest first"]
    follower_lag: Annotated[tuple[FollowerLag, ...], "the 20 followers furthest behind, the worst first"]
    rates: Rates
    history: History


@frozen(kw_only=True)
class BrokerDetail:
    """One broker."""

    source: Source
    broker: BrokerRow
    local: Annotated[LocalBroker | None, "null: it is another broker, which must be asked itself"]
