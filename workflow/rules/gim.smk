SIMPLE = [
    method
    for method in dict.fromkeys([*config["baselines"], *config["imgpu"]["baselines"]])
    if method in ("degree", "degree-discount", "random")
]

# Testing every edge is an ablation.
GIM, SAMPLER = ("papers gim", "--sampler scan") if config["gim"]["sampler"] == "scan" else ("gim", "")
GIM_LIMITS, GIM_FILES = given("gim", "include", "exclude", "targets", "costs", "budget")
LIMITED = config["gim"]["budget"] is not None
GIM_OPTIONS = [
    *options_of({"gim": config["gim"] | {"k": None if LIMITED else config["gim"]["k"]}}, "gim"),
    *GIM_LIMITS,
]
BASELINE_OPTIONS = ["-k", config["gim"]["k"], "--seed", config["seed"]]

if INSTANCES:
    TABLES["runs"] = by_label("<results>/runs/{}/gim-{}.json", INSTANCES)
    TABLES["seeds"] = by_label("<results>/seeds/{}/gim-{}.h5", INSTANCES)
    TABLES["spread"] = by_label(
        "<results>/spread/{}/{}/{}.h5",
        [(*instance, method) for instance in INSTANCES for method in [*METHODS, *OWN_SEEDS]],
    )
    FIGURES["runtime"] = "<results>/figures/runtime.svg"
    FIGURES |= by_label("<results>/figures/spread-{}-{}.svg", INSTANCES, "spread/")
    ARTIFACTS += [*TABLES["seeds"].values(), *TABLES["spread"].values()]
    ASIDE += [f"{path.removesuffix('.h5')}.json" for path in TABLES["spread"].values()]
    ASIDE += [f"<results>/seeds/{graph}/{method}.h5" for graph, _ in INSTANCES for method in config["baselines"]]


# The first run after an installation compiles the kernels; this should not be a timed run. The warm-up runs every
# method that a configuration can choose, so a change of the configuration does not repeat the warm-up and all later
# steps. The graph has weights by in-degree. On a CPU, code for weights from a file and for weighted walks is compiled
# in the first run that needs it.
rule warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        seeds="<results>/warm-up/seeds.h5",
    log:
        "<logs>/gim/warm-up.log",
    benchmark:
        "<benchmarks>/gim/warm-up.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=GPU_DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=2000,
        runtime="10m",
    params:
        commands=lambda wildcards, input, output: lines(
            [
                shlex.split(f"{way} -k 2 --min-sets 100 --model {model}") + [input.graph, "--out", output.seeds]
                for model in ("ic", "lt")
                for way in ("gim run --bound opim", "papers gim run --bound imm --sampler scan")
            ]
        ),
    message:
        "Compiling the kernels of gIM"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


rule gim_run:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/seeds.h5",
        given=GIM_FILES,
    output:
        seeds="<results>/seeds/{graph}/gim-{model}.h5",
        record="<results>/runs/{graph}/gim-{model}.json",
    log:
        "<logs>/gim/{graph}-{model}.log",
    benchmark:
        "<benchmarks>/gim/{graph}-{model}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=memory(8000),
        runtime="1h",
    params:
        options=GIM_OPTIONS,
        seed=config["seed"],
    message:
        "gIM: seeds of {wildcards.graph} under {wildcards.model}"
    shell:
        f"python -m gpukit {GIM} run"
        " {input.graph:q} --out {output.seeds:q} {params.options:q}"
        " --model {wildcards.model} --seed {params.seed}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


if SIMPLE:

    rule gim_baseline:
        input:
            graph="<results>/graphs/{graph}.h5",
        output:
            seeds=[f"<results>/seeds/{{graph}}/{method}.h5" for method in SIMPLE],
        log:
            "<logs>/baseline/{graph}.log",
        benchmark:
            "<benchmarks>/baseline/{graph}.tsv"
        conda:
            CPU_ENV
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime="30m",
        params:
            asked=BASELINE_OPTIONS,
            commands=lambda wildcards, input, output: lines(
                [
                    ["gim", "baseline", input.graph, "--method", method, *BASELINE_OPTIONS, "--out", out]
                    for method, out in zip(SIMPLE, output.seeds, strict=True)
                ]
            ),
        message:
            "Simple rules: seeds of {wildcards.graph}"
        shell:
            f"{BATCH} > {{log:q}} 2>&1"


# One collection of RR sets in several files, one per range of sample ids, as on many nodes of a cluster. One additional
# file is not used for the choice, and judges the seeds.
rule gim_sample:
    input:
        graph="<results>/graphs/{graph}.h5",
    output:
        sets="<results>/shards/{graph}/{model}/{shard}.h5",
    log:
        "<logs>/shards/{graph}-{model}-{shard}.log",
    benchmark:
        "<benchmarks>/shards/{graph}-{model}-{shard}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=memory(8000),
        runtime="1h",
    params:
        first=lambda wildcards: int(wildcards.shard) * config["shards"]["sets"],
        sets=config["shards"]["sets"],
        sampler=SAMPLER,
        seed=config["seed"],
    message:
        "RR sets of {wildcards.graph} under {wildcards.model}, shard {wildcards.shard}"
    shell:
        f"python -m gpukit {GIM} sample"
        " {input.graph:q} --out {output.sets:q} --model {wildcards.model}"
        " --first {params.first} --count {params.sets} {params.sampler} --seed {params.seed}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} > {log:q} 2>&1"


rule gim_select:
    input:
        sets=expand("<results>/shards/{{graph}}/{{model}}/{shard}.h5", shard=range(config["shards"]["count"])),
        judge=f"<results>/shards/{{graph}}/{{model}}/{config['shards']['count']}.h5",
    output:
        seeds="<results>/seeds/{graph}/sharded-{model}.h5",
        record="<results>/runs/{graph}/sharded-{model}.json",
    log:
        "<logs>/select/{graph}-{model}.log",
    benchmark:
        "<benchmarks>/select/{graph}-{model}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=memory(8000),
        runtime="1h",
    params:
        k=config["gim"]["k"],
    message:
        "gIM: {params.k} seeds of {wildcards.graph} under {wildcards.model} out of all shards"
    shell:
        "python -m gpukit gim select {input.sets:q} --judge {input.judge:q} --out {output.seeds:q} -k {params.k}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"
