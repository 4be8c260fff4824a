"""What docs/howto-ranking.md says of PyTorch Geometric, where that is installed: the page's code, and its claims."""

import re
from pathlib import Path
from textwrap import dedent

import networkx as nx
import numpy as np
import pytest

import gpukit as gk

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.nn import APPNP  # noqa: E402
from torch_geometric.transforms import GDC  # noqa: E402
from torch_geometric.utils import degree, get_ppr  # noqa: E402

PAGE = Path(gk.__file__).parents[1] / "docs" / "howto-ranking.md"
TABLE, MEMORY, SMOOTH = (
    dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
)
N = 60
FEATURES = torch.from_numpy(np.random.default_rng(1).normal(size=(N, 7)).astype(np.float32))


@pytest.fixture(scope="module")
def edge_index():
    graph = nx.powerlaw_cluster_graph(N, 3, 0.4, seed=1).to_directed()
    return torch.tensor(list(graph.edges)).T.contiguous()


def index_of(edge_index, alpha):
    return gk.PageRankIndex(gk.from_edges(*edge_index.numpy()), alpha=alpha)


def dense(edge_index, weight, n=N):
    return torch.sparse_coo_tensor(edge_index, weight.float(), (n, n)).to_dense()


def run(code, k=32, **names):
    """Run code of the page, with another k."""
    exec(code.replace("k=32", f"k={k}"), names)
    return names


@pytest.mark.filterwarnings("error:The given NumPy array is not writable")
def test_the_table_is_that_of_get_ppr(edge_index, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    index = index_of(edge_index, 0.2)
    index.write_all("all.parquet", k=32)
    found = run(TABLE)
    ours, theirs = dense(found["edge_index"], found["edge_weight"]), dense(*get_ppr(edge_index, alpha=0.2, eps=1e-6))
    assert found["edge_weight"].dtype == torch.float32 and ((ours > 0).sum(1) == 32).all()
    assert (ours - theirs)[ours > 0].abs().max() < 2e-3 and (ours.sum(1) < 0.95).all()
    edges = run(MEMORY, index=index, torch=torch)["edges"]
    assert torch.equal(dense(torch.from_dlpack(edges.edge_index), torch.from_dlpack(edges.edge_weight)), ours)


def test_edges_in_memory_are_shared(edge_index):
    found = run(MEMORY, index=index_of(edge_index, 0.2), torch=torch)
    data, edges = found["data"], found["edges"]
    assert data.edge_index.data_ptr() == edges.edge_index.ctypes.data and data.edge_index.dtype == torch.int64
    assert data.edge_attr.data_ptr() == edges.edge_weight.ctypes.data and data.edge_attr.dtype == torch.float32


def test_walks_end_where_there_is_no_way_on():
    """Vertex 2 has no out-edges."""
    edge_index = torch.tensor([[0, 1, 0], [1, 2, 2]])
    edges = index_of(edge_index, 0.2).all_edges(k=3)
    ours = dense(torch.from_dlpack(edges.edge_index), torch.from_dlpack(edges.edge_weight), 3)
    found, weight = get_ppr(edge_index, alpha=0.2, eps=1e-9)
    theirs = dense(found, weight, 3)
    assert ours[2, 2] == 1 and theirs[2, 2] == pytest.approx(0.2)
    theirs[:, 2] /= 0.2
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("normalization", ["row", "sym"])
def test_diffusion_is_that_of_gdc(edge_index, normalization):
    """All targets; with GDC's own choice of k by symmetric weights they would be others."""
    transform = GDC(
        self_loop_weight=None,
        normalization_in=normalization,
        normalization_out=None,
        diffusion_kwargs={"method": "ppr", "alpha": 0.15},
        sparsification_kwargs={"method": "threshold", "eps": 0.0},
    )
    theirs = transform(Data(edge_index=edge_index, num_nodes=N))
    data = run(MEMORY, k=N, index=index_of(edge_index, 0.15), torch=torch)["data"]
    weight = data.edge_attr
    if normalization == "sym":
        deg = degree(edge_index[0], N)
        weight = weight * deg[data.edge_index[0]].sqrt() / deg[data.edge_index[1]].sqrt()
    ours = dense(data.edge_index, weight)
    torch.testing.assert_close(ours, dense(theirs.edge_index, theirs.edge_attr), atol=2e-3, rtol=0)


def test_one_product_is_appnp_of_many_steps(edge_index):
    memory = run(MEMORY, k=N, index=index_of(edge_index, 0.1), torch=torch)
    names = {"data": memory["data"], "deg": degree(edge_index[0], N), "n": N, "H": FEATURES, "torch": torch}
    ours = run(SMOOTH, **names)["Z"]
    theirs = APPNP(200, alpha=0.1, add_self_loops=False)(FEATURES, edge_index)
    torch.testing.assert_close(ours, theirs, atol=0.02, rtol=0)
    assert (ours - APPNP(200, alpha=0.1)(FEATURES, edge_index)).abs().max() > 0.05


def test_the_best_of_some_vertices_are_those_of_get_ppr(edge_index):
    """As PPRGo chooses them."""
    train, theirs = [0, 7, 21], dense(*get_ppr(edge_index, alpha=0.25, eps=1e-6))
    for source, answer in zip(train, index_of(edge_index, 0.25).top_k_many(train, k=32), strict=True):
        assert len(answer) == 32
        best = set(theirs[source].topk(32).indices.tolist())
        assert len(best & {vertex for vertex, _ in answer}) >= 30
        assert max(abs(float(theirs[source, vertex]) - score) for vertex, score in answer) < 2e-3
