"""How arrays are divided among the memories of several GPUs and the host's."""

import pytest

from gpukit.device.partitioned import split
from gpukit.device.placing import _apart


@pytest.mark.parametrize(
    ("size", "rooms", "expected"),
    [
        (100, [100, 100], [50, 50]),
        (91, [100, 100], [50, 50]),
        (81, [100, 100], [50, 40]),
        (100, [30, 100], [30, 70]),
        (100, [100, 39], [70, 30]),
        (120, [100, 10, 100, 10], [50, 10, 50, 10]),
        (100, [100, -5], [100, 0]),
        (5, [9, 100], [0, 10]),
        (100, [59, 49], None),
        (100, [50, 49], None),
        (10, [0, 0], None),
    ],
    ids=str,
)
def test_parts_are_the_same_but_where_there_is_less_room(size, rooms, expected):
    parts = split(size, rooms, 10)
    assert parts == expected
    if parts is not None:
        assert all(part <= max(0, room) and part % 10 == 0 for part, room in zip(parts, rooms, strict=True))
        assert size <= sum(parts) < size + 10


SIZES = {"rows": 100, "heads": 300, "words": 200}


@pytest.mark.parametrize(
    ("left", "grain", "shared", "there"),
    [
        ([600], None, {}, []),
        ([599], None, {}, ["heads"]),
        ([300], 10, {}, ["heads"]),
        ([299], None, {}, ["heads", "words"]),
        ([450, 450], 10, {"heads": 300}, []),
        ([449, 449], 10, {"heads": 300, "words": 200}, []),
        ([350, 350], 10, {"heads": 300, "words": 200}, []),
        ([349, 349], 10, {}, ["heads"]),
        ([299, 299], 10, {"words": 200}, ["heads"]),
        ([199, 199], 10, {}, ["heads", "words"]),
        ([150, 550], 10, {"heads": 300, "words": 200}, []),
        ([99, 9999], 10, {}, ["heads", "words"]),
        ([450, 450], None, {}, ["heads"]),
        ([250, 250, 250, 250], 10, {"heads": 300, "words": 200}, []),
    ],
    ids=str,
)
def test_the_host_has_what_gpus_have_no_room_for_together(left, grain, shared, there):
    """The rest and the parts stay within the room of each GPU, unless not even the rest does."""
    parts, host = _apart(SIZES, ["heads", "words"], left, grain)
    assert {name: sum(each) for name, each in parts.items()} == shared and host == there
    here = sum(size for name, size in SIZES.items() if name not in parts and name not in host)
    if min(left) >= SIZES["rows"]:
        for gpu, room in enumerate(left):
            assert here + sum(each[gpu] for each in parts.values()) <= room
