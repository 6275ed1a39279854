"""``pybroker cluster health`` and ``pybroker cluster wait``."""

import sys
import time
from collections.abc import Iterator
from itertools import count

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.metadata import MetadataResponse
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..exit_codes import DONE, NOT_ALLOWED, TIMED_OUT, UNHEALTHY, refusal
from ..output.columns import counted
from ..verb import Call, Verb
from ..visible_topics import UNSEEN, sees_all
from .log_directories import directories_of
from .problems import problem, problems_in
from .shapes import ClusterHealth, ClusterProblem

__all__ = ["HEALTH", "WAIT"]

_MIN_ISR = "min.insync.replicas"
_NOT_ALLOWED = "not allowed"
_PAUSE_S = 0.25
_WILL_COME = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)
"""Error codes of a topic that may be there later."""
_LEAST_WATCH_S = 0.1


def _health_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--watch", metavar="SECONDS", nargs="?", type=float, const=2.0, help="look again and again until Ctrl-C (2 s)"
    )


def _wait_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--healthy", action="store_true", help="wait until health finds no problem; also without other conditions")
    add("--brokers", metavar="N", type=int, default=0, help="wait for so many brokers")
    add("--topic", dest="topics", metavar="TOPIC", action="append", default=[], help="wait for a topic with leaders")


def _health(call: Call) -> int:
    watch = call.options.watch
    if watch is not None and not watch >= _LEAST_WATCH_S:
        raise CommandError(f"--watch must be at least {_LEAST_WATCH_S}", BAD_INPUT)
    for round_number in count():
        health = _looked(call.cluster)
        if round_number and call.output.is_for_people:
            call.output.say(time.strftime("%H:%M:%S"))
        call.output.documents([health], _lines, name=lambda view: "healthy" if view.is_healthy else "unhealthy")
        if watch is None:
            break
        sys.stdout.flush()
        time.sleep(watch)
    if _is_hidden(health):
        return NOT_ALLOWED
    return DONE if health.is_healthy else UNHEALTHY


def _is_hidden(health: ClusterHealth) -> bool:
    """The user sees no topic, so there is nothing to judge."""
    return any(each.kind == _NOT_ALLOWED for each in health.problems)


def _looked(cluster: AdminCluster) -> ClusterHealth:
    """The health now. A cluster that cannot be reached is not healthy."""
    try:
        metadata = cluster.metadata(None)
    except ConnectionError as error:
        reached = problem("unreachable", str(error), ())
        return ClusterHealth(is_healthy=False, brokers=0, partitions=0, problems=(reached,))
    problems = [*problems_in(metadata, _min_isr(cluster, metadata)), *_broker_problems(cluster, metadata)]
    if not problems and not metadata.topics and not sees_all(cluster):
        problems.append(problem(_NOT_ALLOWED, UNSEEN, ()))
    return ClusterHealth(
        is_healthy=not problems,
        brokers=len(metadata.brokers),
        partitions=sum(len(topic.partitions) for topic in metadata.topics),
        problems=tuple(problems),
    )


def _min_isr(cluster: AdminCluster, metadata: MetadataResponse) -> dict[str, int]:
    """min.insync.replicas of the topics; without the right to read it: nothing."""
    topics = [NamedResource(ResourceKind.TOPIC, topic.name or "") for topic in metadata.topics]
    if not topics:
        return {}
    try:
        found = found_settings(cluster, topics, [_MIN_ISR])
    except KafkaError:
        return {}
    return {topic.name: int(each.value or 1) for topic, settings in found.items() for each in settings}


def _broker_problems(cluster: AdminCluster, metadata: MetadataResponse) -> list[ClusterProblem]:
    """Brokers that do not answer, and log directories that do not work."""
    found: list[ClusterProblem] = []
    for broker in sorted(metadata.brokers, key=lambda each: each.node_id):
        failures: list[Exception] = []
        directories = directories_of(cluster, [broker.node_id], failures)
        where = f"broker {broker.node_id} ({broker.host}:{broker.port})"
        if failures and isinstance(failures[0], ConnectionError):
            found.append(problem("broker unreachable", f"{where} is not reached from here", [str(failures[0])]))
        broken = [each.directory for each in directories if each.error is not None]
        if broken:
            found.append(problem("log directory offline", f"{where} has a log directory that does not work", broken))
    return found


def _lines(health: ClusterHealth) -> Iterator[str]:
    counts = f"{counted(health.brokers, 'broker')}, {counted(health.partitions, 'partition')}"
    verdict = "healthy" if health.is_healthy else "NOT JUDGED" if _is_hidden(health) else "UNHEALTHY"
    yield f"{verdict}: {counts}"
    for each in health.problems:
        yield f"  {printable(each.what)}"
        if each.items:
            rest = f" and {each.count - len(each.items):,} more" if each.count > len(each.items) else ""
            yield f"    {printable(', '.join(each.items))}{rest}"


def _wait(call: Call) -> int:
    """Looks until all conditions hold or the time is over."""
    options = call.options
    deadline = time.monotonic() + options.timeout
    lacking: str | None = ""
    progress = call.output.progress(lambda elapsed_s: printable(f"{elapsed_s:.0f} s: {lacking}"))
    try:
        while lacking := _lacking(call):
            if time.monotonic() >= deadline:
                raise CommandError(f"after {options.timeout:g} s still: {lacking}", TIMED_OUT)
            progress.tick()
            time.sleep(_PAUSE_S)
    finally:
        progress.clear()
    call.output.say("the cluster is ready")
    return DONE


def _lacking(call: Call) -> str | None:
    """Return the first condition that does not hold, as one line; None: all hold."""
    options = call.options
    try:
        metadata = call.cluster.metadata(options.topics or ())
        if len(metadata.brokers) < options.brokers:
            return f"{len(metadata.brokers)} of {options.brokers} brokers are alive"
        for topic in metadata.topics:
            if topic.error_code not in _WILL_COME:
                raise error_for(topic.error_code, f"topic {topic.name}: {error_for(topic.error_code)}")
            if not topic.partitions or any(each.leader_id < 0 for each in topic.partitions):
                return f"topic {topic.name} is not there, or has a partition without a leader"
        if options.healthy or not (options.brokers or options.topics):
            health = _looked(call.cluster)
            if _is_hidden(health):
                raise CommandError(f"health cannot be judged: {UNSEEN}", NOT_ALLOWED)
            return None if health.is_healthy else health.problems[0].what
    except (ConnectionError, KafkaError) as error:
        refused = refusal(error)
        if refused is None or (isinstance(error, KafkaError) and not error.retriable):
            raise
        return str(refused)
    return None


HEALTH = Verb(
    "health", "say whether the cluster is healthy, and if not, why", _health_arguments, _health, row=ClusterHealth
)
WAIT = Verb("wait", "wait until the cluster is ready", _wait_arguments, _wait)
