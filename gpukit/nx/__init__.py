"""The NetworkX backend: ``nx.pagerank(G, backend="gpukit")``, or ``nx.config.backend_priority`` for all calls.

NetworkX finds it by the entry points ``networkx.backends`` (:mod:`gpukit.nx.backend`, loaded at the first call) and
``networkx.backend_info`` (:mod:`gpukit.nx.info`, loaded with NetworkX). :mod:`gpukit.nx.graph` has the conversions, the
other modules the functions, named as NetworkX's modules are.
"""
