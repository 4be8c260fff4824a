"""Lists of batched queries in the simulator: vertices that pushes reach, and start lists against plain sums."""

import numpy as np
import pytest

from gpukit.kpar.groups import Walks
from gpukit.kpar.index.build_cpu import invert_rows
from gpukit.kpar.problem import begins

N, COARSE_BITS, IDLE = 14, 3, 2


@pytest.fixture
def walks():
    """Return the number of walks from each start (row) to each end (column); at vertex 4 no walk ends."""
    many = np.random.default_rng(6).choice([0, 0, 0, 0, 1, 1, 2, 7], (N, N))
    many[:, 4] = 0
    return many


def unused(kind):
    """Return a value of a type that a signature asks for."""
    from gpukit.device.arrays import Buffer

    name, _, order = kind.partition("[")
    if order:
        return Buffer(np.zeros(1, name)).view
    return {"boolean": False, "int64": 0, "uint64": np.uint64(0)}[name]


@pytest.mark.parametrize("slots_per_team", [4, 3, 2])
@pytest.mark.parametrize("width", [3, 5, N, 100])
def test_lists_bring_what_the_walks_in_them_carry(simulator, monkeypatch, walks, width, slots_per_team):
    """Lists have frequent and rare starts and any length, in every range and group; one query does not wait."""
    from gpukit.device.arrays import Buffer
    from gpukit.kpar.batch import push_cuda as batched
    from gpukit.kpar.batch import starts_cuda, workspace_cuda
    from gpukit.kpar.query import team_cuda as teams

    monkeypatch.setattr(starts_cuda, "RANGE", width)
    tails, ends = np.nonzero(walks)
    rows = begins(np.bincount(tails, minlength=N)), ends.astype(np.int32), walks[tails, ends].astype(np.uint32)
    lists = dict(zip(Walks._fields[3:7], invert_rows(N, *rows), strict=False))
    assert 0 < len(lists["frequencies"]) < len(lists["starts"])
    fields = lists | {"counts": np.ones(N, np.uint32)}
    held = Walks._make(
        Buffer(fields[name]).view if name in fields else unused(kind)
        for name, kind in zip(Walks._fields, batched.WALKS, strict=True)
    )
    space = workspace_cuda.Workspaces(N, 1)
    arrays = space.arrays(1, slots_per_team, 1)
    _, long, short, _, _, units = space._work["rows"]
    generator, slots = np.random.default_rng(1), range(slots_per_team)
    there = units.array.T
    there[:] = generator.integers(0, 1 << 16, there.shape) * (generator.random(there.shape) < 0.7)
    long.array[:, teams.RESERVE] = generator.integers(0, 1 << 40, (len(slots), N))
    long.array[:, teams.SCORES] = -1
    space._pairs.array[:] = 0xFFFFFFFF
    candidates = [generator.permutation(N)[: generator.integers(1, N + 1)] for _ in slots]
    space.states.array[:] = 0
    for s in slots:
        short.array[s, teams.CANDIDATES, : len(candidates[s])] = candidates[s]
        space.states.array[s, [batched.COUNT, batched.WAITS, batched.COARSE]] = (
            len(candidates[s]),
            s != IDLE,
            COARSE_BITS,
        )
    starts_cuda.gather_batched(len(slots), N, held, arrays)
    for s in slots:
        carried = walks.T.astype(np.int64) @ ((there[:, s] % 4096).astype(np.int64) << (there[:, s] // 4096))
        expected = long.array[s, teams.RESERVE] + (carried << COARSE_BITS)
        found = long.array[s, teams.SCORES, : len(candidates[s])]
        assert np.array_equal(found, expected[candidates[s]]) if s != IDLE else (found == -1).all()
    assert not long.array[:, teams.WALKED].any()


@pytest.mark.parametrize("stage", [3, 2048])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_vertices_met_are_listed_whatever_a_stage_holds(simulator, monkeypatch, share, stage):
    """Two blocks list each vertex once. They read four words at a time; the last group of words is not full."""
    from gpukit.device.launch import launch
    from gpukit.kpar.batch import push_cuda as batched
    from gpukit.kpar.batch import workspace_cuda
    from gpukit.kpar.query import lists_cuda
    from gpukit.kpar.query import team_cuda as teams

    monkeypatch.setattr(teams, "STAGE", stage)
    n, slots = 390, 2
    space = workspace_cuda.Workspaces(n, 1)
    arrays = space.arrays(1, slots, 1)
    met = np.random.default_rng(1).random((slots, n)) < share
    bits = np.packbits(met, axis=1, bitorder="little")
    marks = space.marks.array
    marks.view(np.uint8)[:, : bits.shape[1]] = bits
    space.states.array[:] = 0
    launch(batched.list_all, (2, slots), batched.BLOCK, arrays)
    short = space._work["rows"][2].array
    for s in range(slots):
        count = space.states.array[s, batched.LISTED + lists_cuda.IN_ALL]
        assert np.sort(short[s, teams.TOUCHED, :count]).tolist() == np.flatnonzero(met[s]).tolist()
