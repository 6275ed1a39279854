"""The checks of ``pybroker doctor``: a table of pure functions of the gathered facts."""

from collections.abc import Callable, Iterator

from ...base.frozen import frozen
from .access_checks import (
    address_resolves,
    advertised_addresses_are_reached,
    brokers_are_of_one_cluster,
    certificate_is_accepted,
    cluster_answers,
    login_fits,
    port_accepts,
    protocol_on_port_fits,
    versions_are_equal,
)
from .cluster_checks import (
    controller_is_known,
    directories_work,
    internal_topics_have_replicas,
    min_isr_guards_writes,
    no_transaction_hangs,
    offsets_are_kept,
    partitions_have_leaders,
    partitions_have_min_isr,
    partitions_have_spare_replicas,
    replicas_are_in_sync,
)
from .host_checks import disks_have_room, enough_files_may_be_open, fsync_is_quick, settings_file_is_valid
from .judgement import Judgement
from .shapes import Diagnosis, Facts
from .time_checks import clocks_agree, no_offsets_expire_soon, no_record_is_from_the_future

__all__ = ["CHECKS", "NumberedCheck", "results"]


@frozen
class NumberedCheck:
    """A check. ``about``: why a failure matters, for the page about the checks."""

    number: str
    title: str
    judge: Callable[[Facts], Judgement]
    about: str


CHECKS = (
    NumberedCheck(
        "D01",
        "the address resolves",
        address_resolves,
        "The host in `-b` must be a name that this machine knows, or an IP address.",
    ),
    NumberedCheck(
        "D02",
        "the port accepts connections",
        port_accepts,
        "A refused connection means that nothing listens there. Silence means that a firewall drops the packets.",
    ),
    NumberedCheck(
        "D03",
        "the port speaks the client's protocol",
        protocol_on_port_fits,
        "The check finds TLS on a port that the client takes for a plain one, and the reverse. It also finds a web "
        "server or a KRaft controller on the port.",
    ),
    NumberedCheck(
        "D04",
        "the login fits",
        login_fits,
        "A listener with SASL closes connections without login, and a listener without SASL refuses logins.",
    ),
    NumberedCheck(
        "D05",
        "the certificate is accepted",
        certificate_is_accepted,
        "The client must trust the certificate of each address, and the certificate must be valid for the host's name. "
        "The check warns when a certificate ends within 30 days.",
    ),
    NumberedCheck(
        "D06",
        "the cluster answers",
        cluster_answers,
        "The client asks for metadata with its settings, as each Kafka client does first.",
    ),
    NumberedCheck(
        "D07",
        "the brokers have equal versions",
        versions_are_equal,
        "Brokers of several versions are normal only during an upgrade. "
        "The version is estimated from the APIs that a broker serves.",
    ),
    NumberedCheck(
        "D08",
        "advertised addresses are reached",
        advertised_addresses_are_reached,
        "Clients use the bootstrap address only to begin with. "
        "Then they connect to the address that each broker advertises.",
    ),
    NumberedCheck(
        "D09",
        "advertised addresses lead to this cluster",
        brokers_are_of_one_cluster,
        "An advertised `localhost` is another machine for each client, perhaps one with another cluster.",
    ),
    NumberedCheck(
        "D10",
        "there is a controller",
        controller_is_known,
        "Without a controller no topic is created and no leader is elected.",
    ),
    NumberedCheck(
        "D11",
        "partitions have leaders",
        partitions_have_leaders,
        "A partition without a leader can be neither written nor read.",
    ),
    NumberedCheck(
        "D12",
        "partitions have min.insync.replicas in sync",
        partitions_have_min_isr,
        "With fewer replicas in sync, writes with `acks=all` are refused.",
    ),
    NumberedCheck(
        "D13",
        "replicas are in sync",
        replicas_are_in_sync,
        "A replica that is not in sync cannot become leader without loss.",
    ),
    NumberedCheck(
        "D14",
        "one broker may stop",
        partitions_have_spare_replicas,
        "A partition with exactly min.insync.replicas replicas in sync refuses writes with `acks=all` as soon as one "
        "more broker stops.",
    ),
    NumberedCheck(
        "D15",
        "min.insync.replicas guards writes",
        min_isr_guards_writes,
        "With min.insync.replicas=1, a write with `acks=all` may be acknowledged by one machine only, whose loss is "
        "then the loss of the record.",
    ),
    NumberedCheck(
        "D16",
        "internal topics have enough replicas",
        internal_topics_have_replicas,
        "Consumer groups and transactions stop with the only broker that has their internal topics.",
    ),
    NumberedCheck(
        "D17",
        "log directories work and have room",
        directories_work,
        "A broker takes a log directory offline after an I/O error, such as a full disk. "
        "The check warns below 10 % of free space. Brokers before Kafka 3.3 do not tell their free space.",
    ),
    NumberedCheck(
        "D18",
        "no transaction hangs",
        no_transaction_hangs,
        "Readers of committed records wait forever behind an open transaction that no coordinator knows. "
        "Brokers before Kafka 3.0 do not tell.",
    ),
    NumberedCheck(
        "D19",
        "committed offsets are kept for a day",
        offsets_are_kept,
        "A group whose members are all away for offsets.retention.minutes loses its committed offsets.",
    ),
    NumberedCheck(
        "D20",
        "clocks agree",
        clocks_agree,
        "Brokers delete records by their own clocks and the producers' timestamps. Logins by token and certificates "
        "fail too when clocks differ. A pybroker tells its time at `--v1`; Kafka's protocol tells none.",
    ),
    NumberedCheck(
        "D21",
        "no record is from the future",
        no_record_is_from_the_future,
        "A record whose timestamp is over an hour ahead keeps its segment, and all segments behind it, from being "
        "deleted.",
    ),
    NumberedCheck(
        "D22",
        "no offsets expire within a day",
        no_offsets_expire_soon,
        "A group without members loses its offsets offsets.retention.minutes after it became empty. The check counts "
        "from the last commit, so the offsets may last longer. It needs `--v1`.",
    ),
    NumberedCheck(
        "D23",
        "the settings file is valid",
        settings_file_is_valid,
        "With `--config FILE` on a broker's machine: a broker must start with the file, and each setting must have an "
        "effect.",
    ),
    NumberedCheck(
        "D24",
        "enough files may be open",
        enough_files_may_be_open,
        "A broker holds about three files for each segment and one for each connection. With a low limit it closes "
        "and opens log files again and again.",
    ),
    NumberedCheck(
        "D25",
        "log directories are on disks with room",
        disks_have_room,
        "The check warns below 10 % of free space, and about file systems that lose their data with the machine or "
        "the container.",
    ),
    NumberedCheck(
        "D26",
        "fsync is quick",
        fsync_is_quick,
        "A broker that flushes, and each clean stop, waits for fsync. The check writes 20 small files in each log "
        "directory, and removes them.",
    ),
)


def results(facts: Facts) -> Iterator[Diagnosis]:
    """The result of each check, in their order."""
    for check in CHECKS:
        found = check.judge(facts)
        yield Diagnosis(
            check=check.number,
            title=check.title,
            verdict=found.verdict,
            finding=found.text,
            remedy=found.remedy,
        )
