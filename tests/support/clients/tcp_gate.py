"""A TCP proxy that forwards, holds back or cuts connections."""

import asyncio
from functools import partial

__all__ = ["TcpGate"]


class TcpGate:
    """A proxy, opened by `TcpGate.open`; clients connect to `address`."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._may_pass = asyncio.Event()
        self._may_pass.set()
        self._writers: list[asyncio.StreamWriter] = []
        self._pumps: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, host: str, port: int) -> "TcpGate":
        gate = cls(host, port)
        gate._server = await asyncio.start_server(gate._accepted, "127.0.0.1", 0)
        return gate

    @property
    def address(self) -> str:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    def cut(self) -> None:
        """Resets all connections, and new ones until `heal`."""
        self._is_cut = True
        self._reset()

    def hold(self) -> None:
        """Stops forwarding in both directions until `heal`."""
        self._may_pass.clear()

    def heal(self) -> None:
        self._is_cut = False
        self._may_pass.set()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self._reset()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        for pump in self._pumps:
            pump.cancel()
        self._writers.clear()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        self._writers.append(writer)
        try:
            there, to_there = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        if writer.transport.is_closing():  # cut meanwhile
            to_there.transport.abort()
            return
        self._writers.append(to_there)
        for source, sink in ((reader, to_there), (there, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            pump.add_done_callback(partial(self._ended, writer, to_there))
            self._pumps.append(pump)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            await self._may_pass.wait()
            sink.write(data)
            await sink.drain()

    def _ended(self, one: asyncio.StreamWriter, other: asyncio.StreamWriter, pump: "asyncio.Task[None]") -> None:
        one.transport.abort()
        other.transport.abort()
        if not pump.cancelled():
            pump.exception()  # a connection that is reset
