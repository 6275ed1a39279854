"""The traffic of clients and listeners, over real sockets."""

from pybroker.broker.network.client_traffic import ClientKey, ClientTraffic, GoneClients, busiest
from support.in_process.network_peer import ECHO, LATER, frame, serving, until


async def test_connection_counts_its_requests_and_its_bytes_both_ways() -> None:
    async with serving() as server:
        peer = await server.connect()
        frames = [frame(ECHO, 1, b"body"), frame(ECHO, 2, b"longer body"), frame(LATER, 3)]
        peer.send(*frames)
        assert await peer.answers(2) == [1, 2]
        (connection,) = server.listeners.connections()
        traffic = connection.traffic
        assert traffic.key == ClientKey("test", "User:ANONYMOUS", "", "127.0.0.1")
        assert (traffic.connections, traffic.requests) == (1, 3)
        assert traffic.bytes_in == sum(len(each) - 4 for each in frames)
        assert traffic.bytes_out == 4 + 4 + 4 + 11
        assert traffic.last_seen_ms == 1_700_000_000_000


async def test_listener_counts_open_and_accepted_connections_and_keeps_the_traffic_of_closed_ones() -> None:
    async with serving() as server:
        counters = server.listeners.counters["TEST"]
        peers = [await server.connect() for _ in range(3)]
        for peer in peers:
            peer.send(frame(ECHO, 1, b"body"))
            await peer.answer()
        assert (counters.connections, counters.accepted) == (3, 3)
        for peer in peers[:2]:
            await peer.close()
        await until(lambda: counters.connections == 1)
        assert counters.accepted == 3
        (gone,) = server.listeners.gone_clients
        assert (gone.requests, gone.connections) == (2, 0)
        open_ones = [connection.traffic for connection in server.listeners.connections()]
        (client,) = busiest([gone, *open_ones], 32)
        assert (client.requests, client.connections) == (3, 1)


def traffic_of(client_id: str, size_bytes: int) -> ClientTraffic:
    traffic = ClientTraffic(ClientKey(client_id, "User:a", "", "h"))
    traffic.requests = 1
    traffic.bytes_in = size_bytes
    return traffic


def test_busiest_clients_come_first_and_are_limited() -> None:
    traffics = [traffic_of("a", 5), traffic_of("b", 7), traffic_of("a", 4), traffic_of("c", 1)]
    assert [(each.key.client_id, each.bytes) for each in busiest(traffics, 2)] == [("a", 9), ("b", 7)]


def test_few_clients_without_a_connection_are_remembered() -> None:
    gone = GoneClients()
    for number in range(1000):
        gone.add(traffic_of(f"c{number}", 1))
        gone.add(traffic_of("again", 1))
    kept = {each.key.client_id: each.requests for each in gone}
    assert len(kept) == 256
    assert kept["again"] == 1000
