"""A client that fails is no client that takes long."""

import pytest
from support.load.crash_load import CrashLoad


class Failing(CrashLoad):
    def step(self) -> None:
        if self.steps:
            raise ValueError("the books are wrong")
        self.done(lambda: None)


def test_a_step_that_raises_is_a_failure_that_waits_end_with(capsys: pytest.CaptureFixture[str]) -> None:
    load = Failing()
    load.start()
    load.wait_for(2)
    load.stop()
    assert load.failures == ["ValueError('the books are wrong')"]
    assert "the books are wrong" in capsys.readouterr().err
