"""Makes a network on the chosen device."""

from gpukit.device.select import Device
from gpukit.diversity.balance import SAMPLE, STRATEGIES
from gpukit.diversity.problem import Scorer
from gpukit.diversity.scores import build_network
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph


def make_network(
    graph: Graph,
    device: Device | None = None,
    *,
    strategy: str = "dynamic",
    fraction: float = SAMPLE,
    full: bool = False,
) -> Scorer:
    """Return a searchable network of an undirected graph.

    Parameters
    ----------
    graph : Graph
        Undirected.
    device : Device, optional
        Where the work runs; one CPU thread if not given. The CUDA part is imported only for a GPU.
    strategy : str
        Balance of several GPUs, one of :data:`gpukit.diversity.balance.STRATEGIES`.
    fraction : float
        Fraction of the vertices that several GPUs time for the cost model, in (0, 1].
    full : bool
        Whether every ego-network is decomposed, as the paper does. If not, vertices and edges in no context are
        removed.

    Raises
    ------
    UsageError
        If the strategy is unknown.
    DeviceError
        If the graph does not fit on the GPU.
    """
    if strategy not in STRATEGIES:
        raise UsageError(f"balance {strategy!r} is unknown; choose {', '.join(STRATEGIES)}")
    if device is None or device.kind == "cpu":
        return build_network(graph, device.threads if device is not None else 1, full)
    if len(device.gpus) == 1:
        from gpukit.diversity.scores_cuda import CudaNetwork

        return CudaNetwork(graph, full=full)
    from gpukit.diversity.scores_devices import MultiCudaNetwork

    return MultiCudaNetwork(graph, device.gpus, strategy=strategy, fraction=fraction, full=full)
