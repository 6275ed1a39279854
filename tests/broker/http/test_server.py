"""The HTTP server on real sockets: requests, responses, limits."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from pybroker.broker.http.http_error import HttpError
from pybroker.broker.http.request import HttpRequest
from pybroker.broker.http.response import TEXT, HttpResponse
from pybroker.broker.http.router import Router
from pybroker.broker.http.server import MAX_CONNECTIONS
from support.clients.http_client import HttpClient, http_server


def router() -> Router:
    router = Router()
    router.get("/text", lambda _request: HttpResponse(200, b"hello\n", TEXT))
    router.get("/echo/{name}", lambda request: HttpResponse.json({**request.params, **request.query}))
    router.get("/big", lambda _request: HttpResponse(200, b"0123456789" * 100_000, TEXT))
    router.get("/pieces", lambda _request: HttpResponse(200, pieces(), TEXT))
    router.get("/refused", refuse)
    router.get("/bug", lambda _request: HttpResponse(200, bytes(1 // 0)))
    return router


async def pieces() -> AsyncIterator[bytes]:
    for number in range(5):
        await asyncio.sleep(0)
        yield b"%d\n" % number
        yield b""


async def refuse(_request: HttpRequest) -> HttpResponse:
    raise HttpError(503, "later", (("Retry-After", "1"),))


async def test_requests_of_one_connection_are_answered_one_after_the_other() -> None:
    async with http_server(router()) as port, HttpClient(port) as client:
        first = await client.get("/text")
        assert (first.status, first.body) == (200, b"hello\n")
        assert first.headers["x-content-type-options"] == "nosniff"
        assert (await client.get("/echo/a%2Fb?c=d%20e&c=f&g=")).json() == {"name": "a/b", "c": "f", "g": ""}


async def test_requests_that_were_sent_ahead_are_answered_in_order() -> None:
    async with http_server(router()) as port, HttpClient(port) as client:
        client.send(b"".join(b"GET /echo/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number for number in range(50)))
        assert [(await client.response()).json()["name"] for _ in range(50)] == [str(number) for number in range(50)]


async def test_each_request_begins_in_an_iteration_of_the_loop_of_its_own() -> None:
    iteration = 0
    begun: list[int] = []

    async def count() -> None:
        nonlocal iteration
        while True:
            iteration += 1
            await asyncio.sleep(0)

    def note(_request: HttpRequest) -> HttpResponse:
        begun.append(iteration)
        return HttpResponse.json({})

    routes = Router()
    routes.get("/", note)
    counting = asyncio.create_task(count())
    async with http_server(routes) as port, HttpClient(port) as one, HttpClient(port) as other:
        for client in (one, other):
            client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        for _ in range(100):
            await one.response()
            await other.response()
    counting.cancel()
    assert len(set(begun)) == len(begun) == 200


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize(("path", "expected"), [("/big", b"0123456789" * 100_000), ("/pieces", b"0\n1\n2\n3\n4\n")])
async def test_body_arrives_whole_in_one_piece_or_several(
    path: str, expected: bytes, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pybroker.broker.http.encoding._GATHERED_BYTES", 5)
    async with http_server(router()) as port, HttpClient(port) as client:
        for _ in range(2):
            response = await client.get(path, {"Accept-Encoding": encoding})
            assert response.headers.get("content-encoding", "") == encoding
            assert (gzip.decompress(response.body) if encoding else response.body) == expected


@pytest.mark.parametrize("path", ["/text", "/big", "/pieces"])
async def test_head_gets_the_headers_without_a_body(path: str) -> None:
    async with http_server(router()) as port, HttpClient(port) as client:
        client.send(b"HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        assert (await client.response(has_body=False)).status == 200
        assert (await client.get("/text")).body == b"hello\n"  # the connection is still in step


async def test_pieces_for_http_1_0_end_with_the_connection() -> None:
    async with http_server(router()) as port, HttpClient(port) as client:
        client.send(b"GET /pieces HTTP/1.0\r\n\r\n")
        head, _, body = (await client.rest()).partition(b"\r\n\r\n")
        assert b"chunked" not in head.lower()
        assert body == b"0\n1\n2\n3\n4\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab", 405),
        (b"DELETE /text HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab", 413),
        (b"GET /text HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz", 413),
        (b"GET text HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /echo/%FF HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /text?%FF HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /text?" + b"a&" * 200 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /echo/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /refused HTTP/1.1\r\nHost: localhost\r\n\r\n", 503),
        (b"GET /bug HTTP/1.1\r\nHost: localhost\r\n\r\n", 500),
        (b"GET /text HTTP/1.1\r\n\r\n", 400),
        (b"GET /text HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 20_000 + b"\r\n\r\n", 431),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ],
)
async def test_refused_request_gets_its_status_and_one_line(sent: bytes, status: int) -> None:
    async with http_server(router()) as port, HttpClient(port) as client:
        client.send(sent)
        response = await client.response()
        assert response.status == status
        assert list(json.loads(response.body)) == ["error"]


async def test_probes_are_answered_while_the_broker_works_for_all_connections() -> None:
    released = asyncio.Event()

    async def wait(_request: HttpRequest) -> HttpResponse:
        await released.wait()
        return HttpResponse.json({})

    routes = router()
    routes.get("/livez", lambda _request: HttpResponse.json({}), is_public=True, is_for_probes=True)
    routes.get("/slow", wait, most=MAX_CONNECTIONS)
    async with http_server(routes) as port, AsyncExitStack() as clients:
        busy = [await clients.enter_async_context(HttpClient(port)) for _ in range(MAX_CONNECTIONS)]
        for client in busy:
            client.send(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        more = [await clients.enter_async_context(HttpClient(port)) for _ in range(8)]
        for client in more:
            assert (await client.get("/livez")).status == 200
        refused = await more[0].get("/text")
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        late = await clients.enter_async_context(HttpClient(port))  # takes the place of a probe that waits
        assert (await late.get("/livez")).status == 200
        released.set()
        assert [(await client.response()).status for client in busy] == [200] * MAX_CONNECTIONS
        for client in [*busy, *more]:
            client.writer.transport.abort()
        async with asyncio.timeout(60):
            while (await late.get("/text")).status == 503:
                pass


async def test_path_that_does_not_exist_is_answered_with_the_paths_of_the_first_level() -> None:
    async with http_server(router()) as port, HttpClient(port) as client:
        shown = await client.get("/")
        assert (shown.status, shown.json()["error"]) == (
            404,
            "no such path; there are /text, /big, /pieces, /refused, /bug",
        )
