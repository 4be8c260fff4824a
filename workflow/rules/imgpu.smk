IMGPU_VIEWS = {
    "spread": "imgpu-spread",
    "time": "imgpu-times",
    "levels": "imgpu-levels",
    "switches": "imgpu-switches",
}

# If both directions of an edge have the same probability, they share a coin, and a world has no levels to optimise.
SWITCHED = [
    name for name in SIMULATED if not (GRAPHS[name]["undirected"] and GRAPHS[name]["weights"].startswith("const:"))
]

if SIMULATED:
    # The seeds that `gpukit imgpu` chooses, and the records of their times; other seeds come from rules of gIM.
    chosen_by = [(graph, method) for graph in SIMULATED for method in [*SIMULATORS, *OWN_SEEDS]]
    CHOICES = by_label(
        "<results>/seeds/{}/{}",
        [one for one in chosen_by if one[1] not in ("gim", "degree", "degree-discount", "random", *OWN_SEEDS)],
    )
    TABLES["imgpu-runs"] = TABLES["imgpu-times"] = {label: f"{path}.json" for label, path in CHOICES.items()}
    TABLES["imgpu-spread"] = by_label("<results>/spread/{}/worlds/{}.h5", chosen_by)
    TABLES["imgpu-levels"] = {graph: f"<results>/imgpu/{graph}/reach.json" for graph in SIMULATED}
    if SWITCHED:
        TABLES["imgpu-switches"] = {graph: f"<results>/imgpu/{graph}/switches.json" for graph in SWITCHED}
    FIGURES |= {
        f"imgpu-{view}/{graph}": f"<results>/figures/imgpu-{view}-{graph}.svg"
        for graph in SIMULATED
        for view in IMGPU_VIEWS
        if view != "switches" or graph in SWITCHED
    }
    ARTIFACTS += [f"{path}.h5" for path in CHOICES.values()]
    ARTIFACTS += [f"<results>/imgpu/{graph}/reach.h5" for graph in SIMULATED]
    ASIDE += [f"{path.removesuffix('.h5')}.json" for path in TABLES["imgpu-spread"].values()]


# As for gIM: timed runs should not include compilation.
rule imgpu_warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        reach="<results>/warm-up/imgpu-reach.h5",
        seeds="<results>/warm-up/imgpu.h5",
    log:
        "<logs>/imgpu/warm-up.log",
    benchmark:
        "<benchmarks>/imgpu/warm-up.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=GPU_DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=2000,
        runtime="10m",
    params:
        commands=lambda wildcards, input, output: lines(
            [
                ["imgpu", "reach", input.graph, "--worlds", "4", "--out", output.reach],
                *(
                    ["imgpu", "run", input.graph, f"--{mode}", "-k", "2", "--worlds", "4", "--out", output.seeds]
                    for mode in ("fixed", "fresh")
                ),
            ]
        ),
    message:
        "Compiling the kernels of IMGPU"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


# The competitors, one by one: the demo need not compile those that it leaves out.
rule imgpu_baseline_warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        seeds="<results>/warm-up/imgpu-{simulator}.h5",
    log:
        "<logs>/imgpu/warm-up-{simulator}.log",
    benchmark:
        "<benchmarks>/imgpu/warm-up-{simulator}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime="10m",
    message:
        "Compiling {wildcards.simulator}"
    shell:
        "python -m gpukit papers imgpu baseline {input.graph:q} --out {output.seeds:q} --method {wildcards.simulator} -k 2 --worlds 4"
        " > {log:q} 2>&1"


rule imgpu_run:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/imgpu.h5",
    output:
        seeds="<results>/seeds/{graph}/{mode}.h5",
        record="<results>/seeds/{graph}/{mode}.json",
    log:
        "<logs>/imgpu/{graph}-{mode}.log",
    benchmark:
        "<benchmarks>/imgpu/{graph}-{mode}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=memory(8000),
        runtime="1h",
    params:
        k=config["gim"]["k"],
        worlds=config["imgpu"]["worlds"],
        seed=config["seed"],
    message:
        "IMGPU: {params.k} seeds of {wildcards.graph} over {wildcards.mode} worlds"
    shell:
        "python -m gpukit imgpu run {input.graph:q} --out {output.seeds:q} --{wildcards.mode} -k {params.k}"
        " --worlds {params.worlds} --seed {params.seed}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


rule imgpu_baseline:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/imgpu-{simulator}.h5",
    output:
        seeds="<results>/seeds/{graph}/{simulator}.h5",
        record="<results>/seeds/{graph}/{simulator}.json",
    log:
        "<logs>/imgpu/{graph}-{simulator}.log",
    benchmark:
        "<benchmarks>/imgpu/{graph}-{simulator}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=memory(8000),
        runtime="12h",
    params:
        k=config["gim"]["k"],
        worlds=config["imgpu"]["worlds"],
        seed=config["seed"],
    message:
        "{wildcards.simulator}: {params.k} seeds of {wildcards.graph}"
    shell:
        "python -m gpukit papers imgpu baseline {input.graph:q} --out {output.seeds:q} --method {wildcards.simulator} -k {params.k}"
        " --worlds {params.worlds} --seed {params.seed} --threads {threads} --json > {output.record:q} 2> {log:q}"


rule imgpu_reach:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/imgpu.h5",
    output:
        reach="<results>/imgpu/{graph}/reach.h5",
        record="<results>/imgpu/{graph}/reach.json",
    log:
        "<logs>/imgpu/{graph}-reach.log",
    benchmark:
        "<benchmarks>/imgpu/{graph}-reach.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=memory(8000),
        runtime="1h",
    params:
        worlds=config["imgpu"]["worlds"],
        seed=config["seed"],
    message:
        "What every vertex of {wildcards.graph} reaches in {params.worlds} worlds"
    shell:
        "python -m gpukit imgpu reach {input.graph:q} --out {output.reach:q} --worlds {params.worlds} --seed {params.seed}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


# Only times: a benchmark writes no artifact.
rule imgpu_switches:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/imgpu.h5",
    output:
        record="<results>/imgpu/{graph}/switches.json",
    log:
        "<logs>/imgpu/{graph}-switches.log",
    benchmark:
        "<benchmarks>/imgpu/{graph}-switches.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=memory(8000),
        runtime="1h",
    params:
        worlds=config["imgpu"]["worlds"],
        seed=config["seed"],
    message:
        "The optimisations of IMGPU on {wildcards.graph}"
    shell:
        "python -m gpukit papers bench imgpu {input.graph:q} --modes none --switches --worlds {params.worlds} --repeat 1"
        " --seed {params.seed} --device {resources.device} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"
