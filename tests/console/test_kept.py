"""Answers that viewers share: one question at a time, kept for as long as they cost."""

import asyncio

import pytest
from pybroker.console.cluster_views.kept import UNUSED_S, Kept


class Questions:
    """Counts questions; each is answered with its number when the test lets it."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_end = asyncio.Event()
        self.failure: Exception | None = None

    async def ask(self) -> int:
        self.asked += 1
        number = self.asked
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        return number


class Clock:
    """The time of the running loop, moved by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.now_s = loop.time()
        monkeypatch.setattr(loop, "time", lambda: self.now_s)

    async def pass_s(self, seconds: float) -> None:
        self.now_s += seconds
        await turns()


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_ask_at_the_same_time_share_one_question() -> None:
    questions = Questions()
    kept = Kept(questions.ask)
    asking = [asyncio.ensure_future(kept.get()) for _ in range(10)]
    await turns()
    questions.may_end.set()
    assert await asyncio.gather(*asking) == [1] * 10


async def test_answer_is_kept_for_five_times_the_time_that_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, questions = Clock(monkeypatch), Questions()
    kept = Kept(questions.ask)
    asking = asyncio.ensure_future(kept.get())
    await turns()
    clock.now_s += 2
    questions.may_end.set()
    assert await asking == 1
    clock.now_s += 9.9
    assert await kept.get() == 1
    clock.now_s += 0.2
    assert await kept.get() == 2


async def test_answer_that_cost_nothing_is_kept_for_the_given_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, questions = Clock(monkeypatch), Questions()
    questions.may_end.set()
    kept = Kept(questions.ask, fresh_s=60)
    assert await kept.get() == 1
    clock.now_s += 59
    assert await kept.get() == 1
    clock.now_s += 2
    assert await kept.get() == 2


async def test_caller_who_does_not_wait_gets_the_old_answer_and_later_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, questions = Clock(monkeypatch), Questions()
    kept = Kept(questions.ask, fresh_s=0.5)
    assert await kept.within(0) is None
    questions.may_end.set()
    await clock.pass_s(0.2)
    assert await kept.within(0) == 1
    await clock.pass_s(1.1)
    assert await kept.within(0) == 1, "an old answer is better than none"
    await clock.pass_s(0.2)
    assert await kept.within(0) == 2


async def test_question_of_callers_who_do_not_wait_begins_once_and_after_their_replies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, questions = Clock(monkeypatch), Questions()
    kept = Kept(questions.ask)
    assert [await kept.within(0) for _ in range(3)] == [None] * 3
    await clock.pass_s(0.1)
    assert questions.asked == 0
    await clock.pass_s(0.1)
    assert questions.asked == 1
    await clock.pass_s(1)
    assert questions.asked == 1


async def test_closing_drops_a_question_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, questions = Clock(monkeypatch), Questions()
    kept = Kept(questions.ask)
    await kept.within(0)
    kept.close()
    await clock.pass_s(1)
    assert questions.asked == 0


async def test_failure_is_told_to_all_who_wait_and_not_kept() -> None:
    questions = Questions()
    kept = Kept(questions.ask)
    questions.failure = ConnectionError("gone")
    asking = [asyncio.ensure_future(kept.get()) for _ in range(3)]
    await turns()
    questions.may_end.set()
    assert [type(each) for each in await asyncio.gather(*asking, return_exceptions=True)] == [ConnectionError] * 3
    questions.failure = None
    assert await kept.get() == 2


async def test_caller_who_goes_away_does_not_end_the_question_of_others() -> None:
    questions = Questions()
    kept = Kept(questions.ask)
    first, second = asyncio.ensure_future(kept.get()), asyncio.ensure_future(kept.get())
    await turns()
    first.cancel()
    await turns()
    questions.may_end.set()
    assert await second == 1


async def test_question_that_was_under_way_at_a_change_does_not_answer_later_callers() -> None:
    questions = Questions()
    kept = Kept(questions.ask, fresh_s=60)
    before = asyncio.ensure_future(kept.get())
    await turns()
    kept.forget()
    after = asyncio.ensure_future(kept.get())
    await turns()
    questions.may_end.set()
    assert (await before, await after, await kept.get()) == (1, 2, 2)


async def test_answer_that_nobody_wants_any_more_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, questions = Clock(monkeypatch), Questions()
    questions.may_end.set()
    kept = Kept(questions.ask, fresh_s=1_000)
    assert await kept.get() == 1
    clock.now_s += UNUSED_S - 1
    await turns()
    assert await kept.get() == 1
    clock.now_s += 2
    await turns()
    assert await kept.get() == 1, "it was used meanwhile"
    clock.now_s += UNUSED_S + 1
    await turns()
    assert await kept.get() == 2
