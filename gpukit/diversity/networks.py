"""Make a network on the chosen device."""

from gpukit.device.select import Device
from gpukit.diversity.problem import Scorer
from gpukit.diversity.scores import build_network
from gpukit.graph.csr import Graph


def make_network(graph: Graph, device: Device | None = None, *, full: bool = False) -> Scorer:
    """Return a searchable network of an undirected graph.

    Parameters
    ----------
    graph : Graph
        Undirected.
    device : Device, optional
        Where the work runs; one CPU thread if not given. The CUDA part is imported only for a GPU.
    full : bool
        Whether every ego-network is decomposed, as the paper does. If not, vertices and edges in no context are
        removed.

    Raises
    ------
    DeviceError
        If the graph does not fit on the GPU.
    """
    if device is None or device.kind == "cpu":
        return build_network(graph, device.threads if device is not None else 1, full)
    if len(device.gpus) == 1:
        from gpukit.diversity.scores_cuda import CudaNetwork

        return CudaNetwork(graph, full=full)
    from gpukit.diversity.scores_devices import MultiCudaNetwork

    return MultiCudaNetwork(graph, device.gpus, full=full)
