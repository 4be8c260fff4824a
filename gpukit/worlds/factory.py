"""RR collections on the chosen device."""

from gpukit.device.select import Device
from gpukit.worlds.collection import Collection, CpuCollection, Sampler
from gpukit.worlds.reverse import NEVER, Ending, Reverse


def make_collection(
    reverse: Reverse,
    seed: int,
    first: int,
    device: Device | None = None,
    *,
    sampler: Sampler | None = None,
    share_graph_with: Collection | None = None,
    ending: Ending = NEVER,
) -> Collection:
    """Return an empty RR collection.

    Parameters
    ----------
    reverse : Reverse
        The graph, ready for sampling.
    seed : int
        The user's seed, in [0, 2**64).
    first : int
        First sample id.
    device : Device, optional
        The device that draws and keeps the sets; one CPU thread if not given. CUDA modules are imported only for a GPU.
    sampler : Sampler, optional
        Draws on a GPU instead of the samplers of this package.
    share_graph_with : Collection, optional
        A collection of the same graph on the same device; its copy of the graph is reused.
    ending : Ending
        When sets end early.
    """
    if device is None or device.kind == "cpu":
        return CpuCollection(reverse, seed, first, device.threads if device is not None else 1, ending)
    from gpukit.worlds import collection_cuda

    if len(device.gpus) == 1:
        graph = getattr(share_graph_with, "graph", None)
        return collection_cuda.CudaCollection(reverse, seed, first, sampler=sampler, graph=graph, ending=ending)
    from gpukit.worlds.collection_devices import MultiCudaCollection

    graphs = getattr(share_graph_with, "graphs", None)
    return MultiCudaCollection(reverse, seed, first, gpus=device.gpus, sampler=sampler, graphs=graphs, ending=ending)
