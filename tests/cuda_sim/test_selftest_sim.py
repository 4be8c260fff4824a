"""The CUDA self-test of ``gpukit doctor``, in the simulator."""

from gpukit.device import selftest_cuda
from gpukit.device.memory import free_bytes


def test_philox_known_answers() -> None:
    assert selftest_cuda.philox_cuda()


def test_a_wrong_answer_is_noticed(monkeypatch) -> None:
    wrong = selftest_cuda.KNOWN_ANSWERS.copy()
    wrong[2, 9] ^= 1
    monkeypatch.setattr(selftest_cuda, "KNOWN_ANSWERS", wrong)
    assert not selftest_cuda.philox_cuda()


def test_free_memory(simulator) -> None:
    assert free_bytes(simulator) > 1 << 20
