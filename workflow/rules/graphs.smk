STAND_INS = [name for name, entry in GRAPHS.items() if entry["generate"]]


rule import_graph:
    input:
        edges=edges,
    output:
        graph="<results>/graphs/{graph}.h5",
        record="<results>/graphs/{graph}.json",
    log:
        "<logs>/graphs/{graph}.log",
    benchmark:
        "<benchmarks>/graphs/{graph}.tsv"
    wildcard_constraints:
        graph="|".join(re.escape(name) for name in GRAPHS if name not in STAND_INS) or "-",
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=memory(4000, building=True),
        runtime="30m",
    params:
        options=import_options,
        seed=config["seed"],
        # The command does not need it. It makes Snakemake import again if it changed, whatever the times of the files
        # are.
        digest=edges_digest,
    message:
        "Importing {wildcards.graph}"
    shell:
        "python -m gpukit graph import --out {output.graph:q} {params.options:q} --seed {params.seed}"
        " --threads {threads} --json -- {input.edges:q} > {output.record:q} 2> {log:q}"


rule generate_graph:
    output:
        graph="<results>/graphs/{graph}.h5",
        record="<results>/graphs/{graph}.json",
    log:
        "<logs>/graphs/{graph}.log",
    benchmark:
        "<benchmarks>/graphs/{graph}.tsv"
    wildcard_constraints:
        graph="|".join(map(re.escape, STAND_INS)) or "-",
    conda:
        CPU_ENV
    threads: config["threads"]
    resources:
        mem_mb=memory(8000, building=True),
        runtime="2h",
    params:
        model=lambda wildcards: shlex.split(GRAPHS[wildcards.graph]["generate"]),
        weights=lambda wildcards: GRAPHS[wildcards.graph]["weights"],
        seed=config["seed"],
    message:
        "Generating a stand-in for {wildcards.graph}"
    shell:
        "python -m gpukit graph generate {params.model:q} --out {output.graph:q} --weights {params.weights:q} --seed {params.seed}"
        " --threads {threads} --json > {output.record:q} 2> {log:q}"


# The graph for the warm-ups of all systems.
rule warm_up_graph:
    output:
        graph="<results>/warm-up/graph.h5",
    log:
        "<logs>/graphs/warm-up.log",
    benchmark:
        "<benchmarks>/graphs/warm-up.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="10m",
    message:
        "A small graph to compile on"
    shell:
        "python -m gpukit graph generate er --vertices 64 --edges 512 --threads {threads} --out {output.graph:q} > {log:q} 2>&1"


rule fetch_graph:
    output:
        edges="<results>/fetched/{dataset}.gz",
    log:
        "<logs>/graphs/fetch-{dataset}.log",
    benchmark:
        "<benchmarks>/graphs/fetch-{dataset}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="12h",
    message:
        "Fetching {wildcards.dataset}"
    shell:
        "python -m gpukit data fetch {wildcards.dataset:q} --out {output.edges:q} > {log:q} 2>&1"
