"""Runs the event loop, the signal handlers and the broker until it is stopped."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...base.event_marks import marked
from ...config.config import Config
from ...config.given import Source
from ...config.http_listeners import TEST_KIT
from ...storage.files.files import raise_descriptor_limit
from ..environment import Environment
from ..server import BrokerServer
from .console_child import start_console
from .gc_tuning import GcTuning
from .ready_line import ready_line
from .stop_signals import StopSignals

if TYPE_CHECKING:
    from ...protocol.messages.create_topics import CreatableTopic
    from .first_topics import FirstTopics

__all__ = ["run"]

logger = logging.getLogger(__name__)

_SWITCH_INTERVAL_S = 0.0005
"""How long a computing worker thread may keep the interpreter from the event loop, each time the loop needs it.

With Python's default of 5 ms a client had 1 to 30 round trips a second beside one such worker; with this 70 to 100."""


def run(config: Config, announce: Callable[[int], str] | None = None, topics: "Sequence[CreatableTopic]" = ()) -> int:
    """Run a broker until SIGTERM or SIGINT; returns the exit code. Raises StartError.

    On SIGHUP the broker reads its settings file again; without a file it stops, because its terminal is gone.
    ``announce``: returns a further log line for the started broker, given its id. ``topics`` are created before, unless
    they exist.
    """
    import uvloop

    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    raise_descriptor_limit()
    logger.info("starting, data in %s", ", ".join(os.path.abspath(directory) for directory in config.log_dirs))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serve_until_stopped(config, announce, topics))


async def serve_until_stopped(
    config: Config, announce: Callable[[int], str] | None = None, topics: "Sequence[CreatableTopic]" = ()
) -> int:
    signals = StopSignals(asyncio.get_running_loop())
    broker = _broker_with_test_kit(config) if config.boolean(TEST_KIT) else _broker(config)
    broker.failed.add_done_callback(lambda _failed: signals.told.set())
    hang_up = partial(signals.hear, signal.SIGHUP) if config.file is None else broker.reload_settings
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)
    first_topics = _first_topics(broker, topics) if topics else None
    await broker.start()
    if first_topics is not None:
        await first_topics.create()
    # Objects that exist after the start stay, so exclude them from garbage collections.
    gc.collect()
    gc.freeze()
    gc.callbacks.append(GcTuning().note)
    signals.ready()
    console = start_console(config, broker.endpoints, broker.observability.endpoints)
    line = ready_line(
        broker.endpoints,
        broker.observability.endpoints,
        data=config.log_dirs,
        console=None if console is None else console.url,
        is_first_try=config.file is None,
        has_test_kit=config.boolean(TEST_KIT),
        is_local=config.is_given("listeners") and config.source("listeners") is Source.DEFAULT,
    )
    logger.info("%s", line)
    if announce is not None:
        logger.info("%s", announce(broker.broker_id), extra=marked("process.ready-in-words-of-kafka"))
    await signals.told.wait()
    if console is not None:
        await console.close()
    await broker.stop()
    logger.info("stopped")
    return 1 if broker.failed.done() else 0


def _first_topics(broker: BrokerServer, topics: "Sequence[CreatableTopic]") -> "FirstTopics":
    from .first_topics import FirstTopics  # few brokers need it

    return FirstTopics(broker, topics)


def _broker(config: Config) -> BrokerServer:
    return BrokerServer(config, Environment(opens_default_http=True))


def _broker_with_test_kit(config: Config) -> BrokerServer:
    from ..clock.clocks import TestClock  # only tests need it
    from ..test_kit.kit import Kit
    from ..test_kit.routes import add_routes

    kit = Kit(TestClock(), brokers_listener=_listener_for_brokers(config))
    broker = BrokerServer(config, Environment(opens_default_http=True, files=kit.new_files(), test_clock=kit.clock))
    kit.follow(broker)
    kit.end = _end_process
    add_routes(broker.observability.router, kit)
    return broker


def _listener_for_brokers(config: Config) -> str | None:
    """The listener that only other brokers use; None when clients may use it, too."""
    name = config.optional_string("inter.broker.listener.name")
    return name if len(config.listeners()) > 1 else None


def _end_process(*, clean: bool) -> None:
    os.kill(os.getpid(), signal.SIGTERM if clean else signal.SIGKILL)
