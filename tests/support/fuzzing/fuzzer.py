"""Sends mutants to a running broker over many connections, judges the responses, and keeps faulty frames."""

import asyncio
import base64
import json
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psutil
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.wire_client import WireClient
from support.fuzzing.branch_map import BranchMap
from support.fuzzing.frames import ReadFrame, build_frame
from support.fuzzing.mutation import Mutant, Mutator, Seed
from support.fuzzing.oracle import Oracle
from support.fuzzing.world import BASE_TOPICS, PARTITIONS, World
from support.golden import golden_files, read_lines
from support.processes.broker_process import BrokerProcess

__all__ = ["Fuzzer", "Lane", "golden_seeds", "replay", "served_versions"]

LANES = 16
ROUND = 512
ROUNDS_PER_TIDYING = 8
REMEMBERED_ROUNDS = 4
LOOK_AFTER_S = 5.0
LOOKS = 24
"""A frame counts as unanswered after an honest client was served this often, ``LOOK_AFTER_S`` apart."""
LONGEST_GOLDEN = 4000
PING_ID = -77


def served_versions(servers: str) -> dict[int, range]:
    with WireClient(servers) as client:
        answer = client.ask(ApiVersionsRequest(), 0)
    return {each.api_key: range(each.min_version, each.max_version + 1) for each in answer.api_keys}


def golden_seeds(folder: Path, served: dict[int, range]) -> Iterator[Seed]:
    for file in golden_files(folder):
        if not file.name.startswith(("api-", "transaction-version-2")):
            continue
        for line in read_lines(file):
            body = bytes.fromhex(line["hex"])
            is_served = line["kind"] == "request" and line["version"] in served.get(line["key"], ())
            if is_served and len(body) <= LONGEST_GOLDEN:
                yield Seed(ApiKey(line["key"]), line["version"], body)


class CutAnswerError(Exception):
    """The connection was closed in the middle of a response."""


class Lane:
    """Sends one frame at a time on one connection at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, mutant: Mutant) -> bytes | None:
        """The response without its size; None when the connection was closed, b"" when no response is due."""
        reader, writer = await self._connect()
        try:
            writer.write(mutant.data)
            if mutant.is_lying:
                writer.write_eof()
                await reader.read()
                self.close()
                return b""
            if mutant.frame.expects_no_answer:
                ping = build_frame(ApiVersionsRequest(), 0, PING_ID)
                writer.write(len(ping).to_bytes(4, "big") + ping)
                answer = await self._answer(reader)
                return b"" if answer[:4] == PING_ID.to_bytes(4, "big", signed=True) else answer
            return await self._answer(reader)
        except asyncio.IncompleteReadError as error:
            self.close()
            if error.partial:
                raise CutAnswerError from error
            return None
        except ConnectionError:
            self.close()
            return b"" if mutant.is_lying else None  # what was not read of it when the broker hung up resets it

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        return self._streams

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        size = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(size)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Fuzzer:
    """One run against ``broker``, which was started by a traced command that writes to ``reached``.

    One seed gives the same frames as long as the broker sends the same responses, because later frames depend on them
    (member ids, topic ids) and on the branches that were new.
    """

    def __init__(self, broker: BrokerProcess, reached: BranchMap, golden: Path, seed: int, failures: Path) -> None:
        self._broker = broker
        self._reached = reached
        self._failures = failures
        self._seed = seed
        self._random = Random(seed)
        self._world = World(self._random)
        self._served = served_versions(broker.bootstrap_servers)
        self._oracle = Oracle(self._served)
        self._mutator = Mutator(self._random, self._world, self._served, list(golden_seeds(golden, self._served)))
        self._recent: deque[Mutant] = deque(maxlen=ROUND * REMEMBERED_ROUNDS)
        self._lines_read = 0
        self._client = WireClient(broker.bootstrap_servers)
        self._process = psutil.Process(broker.pid)
        self._answered: set[ApiKey] = set()
        self.sent = 0
        self.outcomes: Counter[str] = Counter()
        self.complaints: dict[str, str] = {}
        self.peak_rss_bytes = 0

    @property
    def report(self) -> str:
        return (
            f"seed {self._seed}: {self.sent} frames, {self._reached.branches} branches reached, "
            f"{self._mutator.kept} frames kept, {dict(self.outcomes)}, "
            f"peak {self.peak_rss_bytes >> 20} MiB, {len(self.complaints)} complaints"
        )

    @property
    def frames_kept(self) -> int:
        return self._mutator.kept

    @property
    def never_answered(self) -> set[ApiKey]:
        """Served APIs that never answered a frame."""
        return {ApiKey(key) for key in self._served} - self._answered

    @property
    def port(self) -> int:
        return self._broker.port

    def prepare(self) -> None:
        """Create the topics that frames name."""
        self._tidy(0)

    async def run(self, frames: int) -> None:
        lanes = [Lane(self._broker.port) for _ in range(LANES)]
        self.prepare()
        number = 0
        while self.sent < frames and self._broker_lives():
            await self.round(lanes, self.draw(min(ROUND, frames - self.sent)))
            number += 1
            if number % ROUNDS_PER_TIDYING == 0:
                self._tidy(number // ROUNDS_PER_TIDYING)
        for lane in lanes:
            lane.close()
        self.close()

    def close(self) -> None:
        """Close the connection of the honest client; the caller closes the lanes."""
        self._client.close()

    def draw(self, count: int) -> list[Mutant]:
        """The next frames to send; their correlation ids continue those already sent."""
        return [self._mutator.next(self.sent + place + 1) for place in range(count)]

    async def round(self, lanes: list[Lane], mutants: list[Mutant]) -> None:
        """Send the frames and judge the broker's responses and state."""
        await self._send_all(lanes, mutants)
        self._after_round(mutants)

    async def _send_all(self, lanes: list[Lane], mutants: list[Mutant]) -> None:
        waiting = iter(mutants)
        under_way: dict[int, Mutant] = {}

        async def drive(place: int, lane: Lane) -> None:
            for mutant in waiting:
                under_way[place] = mutant
                await self._try(lane, mutant)
                del under_way[place]

        tasks = [asyncio.create_task(drive(place, lane)) for place, lane in enumerate(lanes)]
        looks = 0
        pending = set(tasks)
        while pending and looks < LOOKS:
            before = self.sent
            _, pending = await asyncio.wait(pending, timeout=LOOK_AFTER_S)
            if pending:
                self._client.ask(ApiVersionsRequest(), 0)
                looks = looks + 1 if self.sent == before else 0
        for task in pending:
            task.cancel()
        for mutant in under_way.values() if pending else ():
            self._complain(mutant, "neither answered nor closed")
        for task in tasks:
            if not task.cancelled() and task not in pending:
                task.result()

    async def _try(self, lane: Lane, mutant: Mutant) -> None:
        self._recent.append(mutant)
        frame = mutant.frame
        try:
            answer = await lane.send(mutant)
        except CutAnswerError:
            self._complain(mutant, "the connection was closed in the middle of an answer")
            return
        finally:
            self.sent += 1
        if answer is None:
            self.outcomes["closed"] += 1
            complaint = self._oracle.judge_close(frame)
        elif not answer:
            self.outcomes["not to be answered"] += 1
            return
        else:
            self.outcomes["answered"] += 1
            message, complaint = self._oracle.judge_answer(frame, answer)
            if message is not None:
                self._answered.add(ApiKey(frame.key))
                self._world.learn(message)
        if complaint:
            self._complain(mutant, complaint)

    def _after_round(self, mutants: list[Mutant]) -> None:
        noted = self._reached.new_correlation_ids()
        for mutant in mutants:
            if mutant.frame.correlation_id in noted and not mutant.is_lying:
                self._mutator.keep(mutant.frame)
        self.peak_rss_bytes = max(self.peak_rss_bytes, self._process.memory_info().rss)
        new_lines = self._broker.lines[self._lines_read :]
        self._lines_read += len(new_lines)
        for place, line in enumerate(new_lines):
            if line.startswith("Traceback") or " CRITICAL " in line:
                about = "".join(new_lines[max(0, place - 1) : place + 60])
                self._complain(None, f"the broker's log: {_innermost(new_lines[place:])}", about)

    def _broker_lives(self) -> bool:
        if self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE:
            return True
        self._complain(None, "the broker ended")
        return False

    def _complain(self, mutant: Mutant | None, what: str, details: str = "") -> None:
        """Save one file for each kind of complaint: the frame, and those sent before it."""
        where = "" if mutant is None else f"{_name(mutant.frame)} v{mutant.frame.version}"
        kind = f"{where} {what}"
        if kind in self.complaints:
            return
        self._failures.mkdir(parents=True, exist_ok=True)
        path = self._failures / f"seed-{self._seed}-{len(self.complaints):03d}.json"
        self.complaints[kind] = str(path)
        content = {
            "complaint": kind,
            "details": details,
            "seed": self._seed,
            "frame": None if mutant is None else _plain(mutant),
            "request": None if mutant is None else repr(mutant.frame.message)[:5000],
            "before": [_plain(each) for each in self._recent],
        }
        path.write_text(json.dumps(content, indent=1))

    def _tidy(self, number: int) -> None:
        """Recreate one base topic, reset the others and delete the rest, so that the disk does not fill."""
        ask = self._client.ask
        existing = {topic.name for topic in ask(MetadataRequest(topics=None), 9).topics if topic.name}
        stays = set(BASE_TOPICS) - {BASE_TOPICS[number % len(BASE_TOPICS)]}
        gone = sorted(existing - stays)
        if gone:
            ask(DeleteTopicsRequest(topic_names=gone, timeout_ms=30_000), 3)
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=PARTITIONS,
                replication_factor=1,
                configs=[CreatableTopicConfig(name="cleanup.policy", value="compact")] if name == "compacted" else [],
            )
            for name in BASE_TOPICS
            if name not in existing & stays
        ]
        ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 5)
        resets = [AlterConfigsResource(resource_type=2, resource_name=name) for name in sorted(existing & stays)]
        ask(AlterConfigsRequest(resources=resets), 1)
        groups = [each.group_id for each in ask(ListGroupsRequest(), 2).groups]
        ask(DeleteGroupsRequest(groups_names=groups), 1)


def _name(frame: ReadFrame) -> str:
    return API_SPECS[ApiKey(frame.key)].name if frame.key >= 0 else "no API"


def _plain(mutant: Mutant) -> dict[str, object]:
    return {"way": mutant.way, "size": mutant.size, "data": base64.b64encode(mutant.frame.data).decode()}


def _innermost(lines: list[str]) -> str:
    """The exception, and the last line of our code in its traceback."""
    place = ""
    for line in lines:
        if line.startswith("  File "):
            place = line.strip()
        elif not line.startswith((" ", "Traceback")):
            return f"{line.strip()} at {place}"
    return place


async def replay(fuzzer: Fuzzer, failure: str) -> None:
    """Send a saved failure again: its frame alone, all frames before it in order, and its frame again."""
    content = json.loads(failure)
    guilty = [content["frame"]] if content["frame"] else []
    plain = [*guilty, *content["before"], *guilty]
    mutants = [Mutant(ReadFrame.read(base64.b64decode(each["data"])), each["way"], each["size"]) for each in plain]
    fuzzer.prepare()
    lane = Lane(fuzzer.port)
    await fuzzer.round([lane], mutants)
    lane.close()
    fuzzer.close()
