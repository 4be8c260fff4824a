"""Live-edge worlds: the rule (IC, LT), sampling tables, reverse sampling of RR sets, greedy coverage.

``rule.py`` decides which in-edges are live and is compiled for both devices. ``tables.py`` and ``reverse.py`` prepare
its input. ``sample_cpu.py`` and ``sample_cuda.py`` (with ``block_cuda.py``) draw the same sets; ``walk_cuda.py`` draws
LT sets faster on a GPU. ``cover_cpu.py`` and ``cover_cuda.py`` choose the same seeds from these sets; ``cover_cuda.py``
takes its candidates from ``candidates_cuda.py``. ``collection.py`` stores the sets on the CPU. ``collection_cuda.py``
stores them on a GPU, within the memory limits of ``room.py`` and next to the graph of ``graph_cuda.py``;
``samplers_cuda.py`` and ``select_cuda.py`` launch its kernels. ``collection_devices.py`` draws with several GPUs.
``factory.py`` makes the collection for a device.
"""
