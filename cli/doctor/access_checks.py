"""Checks of how a client reaches a cluster: addresses, protocols, logins, certificates, advertised listeners. Pure."""

from collections.abc import Mapping

from ...protocol.apis import ApiKey
from ..output.columns import counted
from .gathering import protocol_fits
from .judgement import NO_ANSWER, Judgement, listed_names, ok, skipped
from .shapes import BrokerFacts, Facts, PortFacts, PortKind, Unknown, Verdict

__all__ = [
    "address_resolves",
    "advertised_addresses_are_reached",
    "brokers_are_of_one_cluster",
    "certificate_is_accepted",
    "cluster_answers",
    "kafka_like",
    "login_fits",
    "port_accepts",
    "protocol_on_port_fits",
    "versions_are_equal",
]

_CERTIFICATE_DAYS = 30
_LOCAL = ("localhost", "127.", "::1", "0.0.0.0")
_BY_NEWEST_FETCH = {18: "4.1", 17: "3.9", 16: "3.7", 15: "3.5", 14: "3.5", 13: "3.1", 12: "2.7", 11: "2.3", 10: "2.1"}
_OLDEST_FETCH_OF_KAFKA_4 = 4


def address_resolves(facts: Facts) -> Judgement:
    """D01."""
    wrong = [port for port in facts.ports if not port.resolved]
    if wrong:
        remedy = "correct the name in -b, or make it known to this machine (DNS, /etc/hosts)"
        return Judgement(_severity(wrong, facts), "; ".join(port.failure or "" for port in wrong), remedy)
    return ok("; ".join(f"{port.address} is {', '.join(port.resolved)}" for port in facts.ports))


def port_accepts(facts: Facts) -> Judgement:
    """D02."""
    resolved = [port for port in facts.ports if port.resolved]
    if not resolved:
        return skipped(Unknown("no address resolves"))
    wrong = [port for port in resolved if port.failure is not None]
    if wrong:
        remedy = "start the broker, correct the port, or open the firewall; listeners= of the broker must have the port"
        return Judgement(_severity(wrong, facts), "; ".join(port.failure or "" for port in wrong), remedy)
    return ok(", ".join(f"{port.address} in {port.connect_ms:.1f} ms" for port in resolved))


def protocol_on_port_fits(facts: Facts) -> Judgement:
    """D03."""
    reached = [port for port in facts.ports if port.kind is not None]
    if not reached:
        return skipped(Unknown("no port was reached"))
    wrong = [port for port in reached if not protocol_fits(port, wants_tls=facts.wants_tls)]
    if not wrong:
        return ok(f"{'TLS' if facts.wants_tls else 'plain text'}, as the client's settings say")
    text = "; ".join(f"{port.address} speaks {_kind_words(port)}" for port in wrong)
    return Judgement(_severity(wrong, facts), text, _protocol_remedy(wrong[0], facts))


def login_fits(facts: Facts) -> Judgement:
    """D04."""
    fitting = [port for port in facts.ports if protocol_fits(port, wants_tls=facts.wants_tls)]
    if not fitting:
        return skipped(Unknown("no port speaks the client's protocol"))
    tls = "SSL" if facts.wants_tls else "PLAINTEXT"
    for port in fitting:
        if port.mechanisms is None and facts.mechanism is not None:
            text = f"{port.address} wants no login, but the client logs in with {facts.mechanism}"
            return Judgement("FAIL", text, f"security.protocol={tls}, or the port of a listener with SASL")
        if port.mechanisms is None:
            continue
        offered = ", ".join(port.mechanisms) or "no mechanism"
        if facts.mechanism is None:
            text = f"{port.address} wants a login (SASL, with {offered}), and the client has none"
            return Judgement("FAIL", text, f"-X security.protocol=SASL_{tls} with sasl.mechanism and sasl.jaas.config")
        if facts.mechanism not in port.mechanisms:
            text = f"{port.address} offers {offered}, but not the client's {facts.mechanism}"
            return Judgement("FAIL", text, "set sasl.mechanism of the client to one that the broker offers")
    if facts.is_login_refused and isinstance(facts.metadata, Unknown):
        return Judgement("FAIL", facts.metadata.reason, "correct the name and the password in sasl.jaas.config")
    return ok("no login is wanted" if facts.mechanism is None else f"{facts.mechanism} is accepted")


def certificate_is_accepted(facts: Facts) -> Judgement:
    """D05."""
    if not facts.wants_tls:
        return skipped(Unknown("the client does not use TLS"))
    ports = {port.address: port for port in (*facts.ports, *(each.port for each in facts.brokers))}.values()
    wrong = [port for port in ports if port.certificate_failure is not None]
    if wrong:
        text = "; ".join(f"{port.address}: {port.certificate_failure}" for port in wrong)
        remedy = "ssl.truststore.location must have the authority; the certificate must name the advertised host"
        return Judgement("FAIL", text, remedy)
    valid = [port for port in ports if port.certificate_days is not None]
    if not valid:
        return skipped(Unknown("no port showed a certificate"))
    first = min(valid, key=lambda port: port.certificate_days or 0.0)
    text = f"the certificate of {first.address} is valid for {first.certificate_days or 0.0:.0f} days"
    if (first.certificate_days or 0.0) < _CERTIFICATE_DAYS:
        return Judgement("warn", text, "renew it; a broker reads it again when its ssl.keystore.location is set")
    return ok(text)


def cluster_answers(facts: Facts) -> Judgement:
    """D06."""
    if isinstance(facts.metadata, Unknown):
        return Judgement("FAIL", facts.metadata.reason, "mend what failed above")
    brokers, topics = len(facts.metadata.brokers), len(facts.metadata.topics)
    name = facts.metadata.cluster_id or "without an id"
    return ok(f"cluster {name}: {counted(brokers, 'broker')}, {counted(topics, 'topic')}")


def versions_are_equal(facts: Facts) -> Judgement:
    """D07."""
    by_version: dict[str, list[str]] = {}
    for broker in facts.brokers:
        if broker.port.versions:
            by_version.setdefault(kafka_like(broker.port.versions), []).append(str(broker.broker))
    if not by_version:
        return skipped(Unknown("no broker told its versions") if facts.brokers else NO_ANSWER)
    if len(by_version) == 1:
        return ok(f"all speak like Kafka {next(iter(by_version))}")
    text = ", ".join(f"Kafka {version}: broker {listed_names(ids)}" for version, ids in sorted(by_version.items()))
    return Judgement("warn", text, "finish the upgrade")


def kafka_like(versions: Mapping[int, tuple[int, int]]) -> str:
    """The version of Kafka that serves such versions of Fetch, or the first that did."""
    oldest, newest = versions.get(ApiKey.FETCH, (0, 0))
    if oldest >= _OLDEST_FETCH_OF_KAFKA_4 and newest == max(each for each in _BY_NEWEST_FETCH if each < 18):
        return "4.0"
    if newest > max(_BY_NEWEST_FETCH):
        return f"{_BY_NEWEST_FETCH[max(_BY_NEWEST_FETCH)]} or newer"
    return _BY_NEWEST_FETCH.get(newest, "before 2.1")


def advertised_addresses_are_reached(facts: Facts) -> Judgement:
    """D08."""
    if not facts.brokers:
        return skipped(NO_ANSWER)
    wrong = [(each, said) for each in facts.brokers if (said := _not_reached(each, facts)) is not None]
    if not wrong:
        return ok(f"{counted(len(facts.brokers), 'broker')} reached")
    broker = wrong[0][0]
    remedy = (
        f"advertised.listeners of broker {broker.broker} must be a name that clients reach; {broker.port.host} "
        f"{'is this machine' if _is_local(broker.port.host) else 'may be known only in the network of the broker'}"
    )
    return Judgement("FAIL", "; ".join(said for _, said in wrong[:3]) + _more(len(wrong) - 3), remedy)


def brokers_are_of_one_cluster(facts: Facts) -> Judgement:
    """D09."""
    if isinstance(facts.metadata, Unknown):
        return skipped(NO_ANSWER)
    own = facts.metadata.cluster_id
    answered = [each for each in facts.brokers if each.cluster_id is not None]
    if own is None or not answered:
        return skipped(Unknown("the brokers did not tell the id of their cluster"))
    wrong = [each for each in answered if each.cluster_id != own]
    if wrong:
        text = "; ".join(
            f"broker {e.broker} at {e.port.address} is of cluster {e.cluster_id}, not {own}" for e in wrong
        )
        remedy = f"advertised.listeners of broker {wrong[0].broker} leads this machine to another cluster: correct it"
        return Judgement("FAIL", text, remedy)
    return ok(f"{counted(len(answered), 'broker')} of {own}")


def _not_reached(broker: BrokerFacts, facts: Facts) -> str | None:
    port = broker.port
    said = f'broker {broker.broker} tells clients "{port.address}"'
    if port.failure is not None:
        return f"{said}; {port.failure}"
    if not protocol_fits(port, wants_tls=facts.wants_tls):
        return f"{said}; that speaks {_kind_words(port)}"
    return None if broker.failure is None else f"{said}; {broker.failure}"


def _is_local(host: str) -> bool:
    return host.lower().startswith(_LOCAL)


def _more(count: int) -> str:
    return f"; and {count:,} more" if count > 0 else ""


def _severity(wrong: list[PortFacts], facts: Facts) -> Verdict:
    """One good address is enough to begin with, so that a bad one beside it is only a warning."""
    return "FAIL" if len(wrong) == len(facts.ports) else "warn"


def _kind_words(port: PortFacts) -> str:
    return (port.kind or PortKind.UNKNOWN).value


def _protocol_remedy(port: PortFacts, facts: Facts) -> str:
    sasl = "SASL_" if facts.mechanism is not None or port.mechanisms is not None else ""
    if port.kind is PortKind.TLS:
        return f"-X security.protocol={sasl}SSL, or the port of a plain listener"
    if port.kind is PortKind.PLAIN:
        return f"-X security.protocol={sasl}PLAINTEXT, or the port of a listener with TLS"
    if port.kind is PortKind.CONTROLLER:
        return "use the port of a listener for clients, not one of controller.listener.names"
    return "use the port in listeners= of the broker; Kafka's default is 9092"
