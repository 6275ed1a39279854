"""A blocking connection to a broker."""

from pybroker.client.client_settings import take_client_settings
from pybroker.client.connection import Connection
from pybroker.client.given_options import GivenOptions
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.metadata import MetadataRequest


def test_question_passes_over_the_responses_to_earlier_requests(servers: str) -> None:
    settings = take_client_settings(GivenOptions({"bootstrap.servers": servers}), "test")
    connection = Connection(*settings.bootstrap_servers[0], settings)
    connection.send(MetadataRequest(topics=[]))
    connection.send(ListGroupsRequest())
    assert connection.ask(FindCoordinatorRequest(key="group")).host
    assert connection.receive().brokers
    connection.send(MetadataRequest(topics=[]))
    assert connection.receive().error_code == 0
    assert connection.receive().brokers
    connection.close()
