"""Tests that polling succeeds at the last attempt, or fails with the name of the missing effect."""

import pytest
from support.time.patience import await_answer, await_that


def test_answer_found_at_the_last_attempt_is_returned() -> None:
    answers = iter([1, 2, 3])
    assert await_answer(lambda: next(answers), lambda answer: answer == 3, "three", looks=3) == 3
    assert list(answers) == []


def test_missing_answer_raises_an_error_with_the_last_one_seen() -> None:
    answers = iter([1, 2, 3])
    with pytest.raises(AssertionError, match="a four: not after 2 looks; the last answer was 2"):
        await_answer(lambda: next(answers), lambda answer: answer == 4, "a four", looks=2)
    with pytest.raises(AssertionError, match="something: not after 1 looks"):
        await_that(list, "something", looks=1)
