"""Checks of time: clocks, timestamps of the future, offsets that expire soon. Pure."""

from ..output.columns import counted, duration_text
from .judgement import Judgement, listed_names, ok, skipped
from .shapes import ClockFacts, Facts, Unknown

__all__ = ["clocks_agree", "no_offsets_expire_soon", "no_record_is_from_the_future"]

_CLOSE_MS = 1000
_FAR_MS = 300_000
"""Kerberos, and many issuers of tokens, allow five minutes."""


def clocks_agree(facts: Facts) -> Judgement:
    """D20."""
    if isinstance(facts.clocks, Unknown):
        return skipped(facts.clocks)
    wrong = [each for each in facts.clocks if _off_ms(each) > _CLOSE_MS]
    if not wrong:
        widest_ms = max((abs(each.ahead_ms) + each.within_ms for each in facts.clocks), default=0.0)
        return ok(f"{counted(len(facts.clocks), 'broker')} within {widest_ms:.0f} ms of this machine")
    text = listed_names([f"broker {each.broker} is {_distance(each)}" for each in wrong])
    is_far = any(_off_ms(each) > _FAR_MS for each in wrong)
    remedy = "set the clocks by NTP (chrony, systemd-timesyncd), those of the brokers and that of this machine"
    return Judgement("FAIL" if is_far else "warn", text, remedy)


def no_record_is_from_the_future(facts: Facts) -> Judgement:
    """D21."""
    if isinstance(facts.future, Unknown):
        return skipped(facts.future)
    if not facts.future:
        return ok("none")
    topic = facts.future[0].rpartition(" (")[0].rpartition("-")[0]
    text = (
        f"{counted(len(facts.future), 'partition')} with a timestamp over an hour ahead: {listed_names(facts.future)}"
    )
    return Judgement("warn", text, f"pybroker explain retention {topic}; correct the clock of the producer")


def no_offsets_expire_soon(facts: Facts) -> Judgement:
    """D22."""
    if isinstance(facts.expiring, Unknown):
        return skipped(facts.expiring)
    if not facts.expiring:
        return ok("none")
    names = [
        f"{each.group} {f'in {duration_text(each.left_ms / 1000)}' if each.left_ms else 'now'}"
        for each in facts.expiring
    ]
    text = f"offsets of {counted(len(names), 'group')} without members may expire: {listed_names(names)}"
    return Judgement(
        "warn", text, f"start its consumers, or keep the offsets: pybroker groups export {facts.expiring[0].group}"
    )


def _off_ms(clock: ClockFacts) -> float:
    """By so much the clock is wrong at least."""
    return max(0.0, abs(clock.ahead_ms) - clock.within_ms)


def _distance(clock: ClockFacts) -> str:
    return f"{duration_text(abs(clock.ahead_ms) / 1000)} {'ahead' if clock.ahead_ms > 0 else 'behind'}"
