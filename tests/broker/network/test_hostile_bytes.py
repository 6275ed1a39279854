"""Tests that random and damaged bytes on one connection do not disturb the others."""

import random
import struct

import pytest
from support.in_process.network_peer import ECHO, REGIONS, UNKNOWN, Server, frame, serving, warnings


def random_bytes(dice: random.Random) -> bytes:
    return dice.randbytes(dice.randrange(1, 2000))


def bad_size_behind_good_frames(dice: random.Random) -> bytes:
    return frame(ECHO, 1) * dice.randrange(5) + struct.pack(">i", dice.choice([-1, 0, 2**31 - 1])) + dice.randbytes(20)


def damaged_frame(dice: random.Random) -> bytes:
    data = bytearray(frame(ECHO, 1, dice.randbytes(50)))
    for _ in range(dice.randrange(1, 4)):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def half_a_frame(dice: random.Random) -> bytes:
    data = frame(dice.choice([ECHO, REGIONS]), 1, dice.randbytes(dice.randrange(200_000)))
    return data[: dice.randrange(len(data))]


def random_frame(dice: random.Random) -> bytes:
    content = dice.randbytes(dice.randrange(1, 60))
    return struct.pack(">i", len(content)) + content


def unknown_api(dice: random.Random) -> bytes:
    return frame(UNKNOWN, dice.randrange(1000))


@pytest.mark.parametrize(
    "attack",
    [random_bytes, bad_size_behind_good_frames, damaged_frame, half_a_frame, random_frame, unknown_api],
    ids=lambda attack: str(attack.__name__),
)
async def test_hostile_bytes_do_not_disturb_other_connections(attack: object) -> None:
    assert callable(attack)
    dice = random.Random(7)
    async with serving() as server:
        bystander = await server.connect()
        for number in range(60):
            await attack_once(server, attack(dice))
            bystander.send(frame(ECHO, number, b"calm"))
            assert await bystander.answer() == (number, b"calm")
        await server.settle()
        assert server.listeners.request_bytes == 0


async def attack_once(server: Server, data: bytes) -> None:
    attacker = await server.connect()
    attacker.send(data)
    attacker.writer.write_eof()
    try:
        while await attacker.reader.read(65_536):
            pass
    except ConnectionError:
        pass
    await attacker.close()


@pytest.mark.parametrize(
    "header",
    [b"PROXY TCP4 10.0.0.1 10.0.0.2 5000 9092\r\n", b"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"],
    ids=["version 1", "version 2"],
)
async def test_proxy_header_closes_the_connection_with_a_line_that_names_it(
    header: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as server:
        peer = await server.connect()
        peer.send(header + frame(ECHO, 1))
        await peer.reader.read()
        (line,) = warnings(caplog.records)
        assert "a PROXY protocol header" in line
