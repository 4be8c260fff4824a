"""Live-edge worlds: the rule (IC, LT), sampling tables, reverse sampling of RR sets, greedy coverage.

``rule.py`` decides which in-edges are live and is compiled for both devices. ``tables.py`` and ``reverse.py`` prepare
its input. ``sample_cpu.py`` and ``sample_cuda.py`` (with ``block_cuda.py``) draw the same sets; on a GPU
``walk_cuda.py`` draws sets of LT faster. ``cover_cpu.py`` and ``cover_cuda.py`` choose the same seeds from them, the
latter among the candidates of ``candidates_cuda.py``. ``collection.py`` holds the sets on the CPU.
``collection_cuda.py`` holds them on a GPU, within the limits of ``room.py``, with the graph of ``graph_cuda.py``;
``samplers_cuda.py`` and ``select_cuda.py`` start the kernels. ``collection_devices.py`` draws with several GPUs.
``factory.py`` makes the collection for a device.
"""
