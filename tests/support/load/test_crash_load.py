"""Tests that a failed client is told apart from a slow one."""

import pytest
from support.load.crash_load import CrashLoad


class Failing(CrashLoad):
    def step(self) -> None:
        if self.steps:
            raise ValueError("the books are wrong")
        self.done(lambda: None)


def test_failed_step_ends_waits_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    load = Failing()
    load.start()
    load.wait_for(2)
    load.stop()
    assert load.failures == ["ValueError('the books are wrong')"]
    assert "the books are wrong" in capsys.readouterr().err
