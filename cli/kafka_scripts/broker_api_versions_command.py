"""``kafka-broker-api-versions``: the API versions of each broker (Kafka: BrokerApiVersionsCommand)."""

import sys
from collections.abc import Sequence
from pathlib import Path

from ...client.admin_cluster import AdminCluster
from ...protocol.apis import API_SPECS, ApiKey, ApiSpec, Listener
from ...protocol.codec.schema import VersionRange
from ...protocol.errors import KafkaError
from ...protocol.messages.api_versions import ApiVersionsRequest
from ...protocol.messages.metadata import MetadataResponseBroker
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import VERSION, ScriptParser, UsageError, check_required

__all__ = ["broker_api_versions_command"]

_CLIENT_LISTENERS = {Listener.ZK_BROKER, Listener.BROKER}


def broker_api_versions_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        check_required(options, ["bootstrap-server"])
    except UsageError as error:
        return parser.refuse(error)
    try:
        with script_cluster(options) as cluster:
            _print(cluster)
    except CLUSTER_ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-broker-api-versions", "This tool helps to retrieve broker version information.")
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The server to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    return parser


def _print(cluster: AdminCluster) -> None:
    for broker in cluster.retried(cluster.metadata).brokers:
        address = f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {_rack(broker)})"
        try:
            served = _served(cluster, broker.node_id)
        except (ConnectionError, KafkaError) as error:
            sys.stdout.write(f"{address} -> ERROR: {error}\n")
            continue
        lines = ",\n\t".join(text for _, text in sorted(_texts(served).items()))
        sys.stdout.write(f"{address} -> (\n\t{lines}\n)\n")


def _rack(broker: MetadataResponseBroker) -> str:
    return "null" if broker.rack is None else broker.rack


def _served(cluster: AdminCluster, broker_id: int) -> dict[int, VersionRange]:
    # The lines say what Kafka's Java client would use, and a pybroker lists other APIs for it than for other clients.
    request = ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version=VERSION)
    answer = cluster.ask_broker(broker_id, request)
    return {each.api_key: VersionRange(each.min_version, each.max_version) for each in answer.api_keys}


def _texts(served: dict[int, VersionRange]) -> dict[int, str]:
    """The text of each API that the broker serves, or that clients of Kafka 3.9 would use."""
    known: dict[int, ApiSpec] = {int(spec.key): spec for spec in API_SPECS.values()}
    texts = {
        key: f"{spec.name}({key}): UNSUPPORTED"
        for key, spec in known.items()
        if spec.listeners & _CLIENT_LISTENERS and key <= ApiKey.READ_SHARE_GROUP_STATE_SUMMARY  # the last of Kafka 3.9
    }
    for key, versions in served.items():
        spec = known.get(key)
        shown = f"{versions.first}" if versions.first == versions.last else f"{versions.first} to {versions.last}"
        texts[key] = (
            f"UNKNOWN({key}): {shown}" if spec is None else f"{spec.name}({key}): {shown} {_use(spec, versions)}"
        )
    return texts


def _use(spec: ApiSpec, served: VersionRange) -> str:
    """The version that a client of Kafka 3.9 would use."""
    ours = spec.advertised or spec.versions
    if ours.last < served.first:
        return "[unusable: node too new]"
    if served.last < ours.first:
        return "[unusable: node too old]"
    return f"[usable: {min(ours.last, served.last)}]"
