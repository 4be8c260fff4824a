"""The phase timer, against a clock that the test moves."""

from types import SimpleNamespace

import pytest

from gpukit.device import timing
from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.papers.bench import machine
from gpukit.papers.bench.machine import profiled


class Clock:
    """A clock that moves only when told to."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    return clock


def test_phases_add_up_and_inner_time_counts_once(clock: Clock) -> None:
    timer = PhaseTimer()
    for _ in range(2):
        with timer.phase("outer"):
            clock.now += 1
            with timer.phase("inner"):
                clock.now += 10
            clock.now += 2
        clock.now += 100
    assert timer.seconds() == {"total": 226, "outer": 6, "inner": 20}
    assert list(timer.seconds()) == ["total", "outer", "inner"]


def test_time_counts_when_a_phase_fails_and_the_cause_stays(clock: Clock) -> None:
    calls = []

    def sync() -> None:
        calls.append(clock.now)
        if clock.now:
            raise RuntimeError("the device is gone")

    timer = PhaseTimer(sync)
    with pytest.raises(ValueError, match="cause"), timer.phase("a"):
        clock.now += 3
        raise ValueError("cause")
    assert timer.seconds() == {"total": 3, "a": 3} and calls == [0]


def test_the_device_is_synchronised_at_both_ends(clock: Clock) -> None:
    def sync() -> None:
        clock.now += 5  # work that is still running

    timer = PhaseTimer(sync)
    with timer.phase("a"):
        clock.now += 1
    assert timer.seconds() == {"total": 11, "a": 6}


def test_a_phase_lasts_until_the_device_is_done_though_nobody_waits(clock: Clock) -> None:
    done = []

    def mark():
        done.append(clock.now)
        return lambda at=clock.now: max(at, 30.0) if at > 1 else at  # busy until then with what it was given after 1

    timer = PhaseTimer(mark=mark)
    clock.now += 1
    with timer.phase("a"):
        clock.now += 2
    with timer.phase("b"):
        clock.now += 47
    assert timer.seconds() == {"total": 50, "a": 29, "b": 20} == timer.seconds() and done == [1, 3, 3, 50]


def test_what_follows_a_transfer_waits_for_it(clock: Clock) -> None:
    def sync() -> None:
        clock.now += 7

    timer = PhaseTimer(sync, mark=lambda: lambda: 0.0)
    for name in ("transfer", "a"):
        with timer.phase(name):
            clock.now += 1
    assert timer.seconds() == {"total": 9, "transfer": 8, "a": 1}


def test_a_profiler_is_shown_the_body_on_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpukit.device import arrays

    calls = []
    runtime = SimpleNamespace(profilerStart=lambda: calls.append("start"), profilerStop=lambda: calls.append("stop"))
    monkeypatch.setattr(arrays, "xp", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(machine, "simulated", lambda: False)
    with profiled(Device("cpu", "c", (), 1, "test")):
        calls.append("body")
    with pytest.raises(ValueError, match="cause"), profiled(Device("cuda", "g", (0,), 1, "test")):
        calls.append("body")
        raise ValueError("cause")
    assert calls == ["body", "start", "body", "stop"]
