TARGETS, TARGET_FILES = given("gim", "targets")
SPREAD_OPTIONS = [
    *("--prefixes", ",".join(map(str, config["evaluate"]["prefixes"]))),
    *["--clip"] * bool(OWN_SEEDS or LIMITED),  # how many seeds there are is not known yet
    *(*until(), "--seed", config["seed"]),
]
CHECK_OPTIONS = ["--sample", config["diversity"]["check"], "--seed", config["seed"]]


# All seeds of a graph under a model in one process; those of IMGPU and its competitors in another one.
rule evaluate_spread:
    input:
        graph="<results>/graphs/{graph}.h5",
        seeds=lambda wildcards: [seeds(wildcards, method) for method in METHODS],
        warm="<results>/warm-up/metrics.h5",
        given=TARGET_FILES,
    output:
        metrics=[f"<results>/spread/{{graph}}/{{model}}/{method}.h5" for method in METHODS],
        records=[f"<results>/spread/{{graph}}/{{model}}/{method}.json" for method in METHODS],
    log:
        "<logs>/spread/{graph}-{model}.log",
    benchmark:
        "<benchmarks>/spread/{graph}-{model}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=memory(4000),
        runtime="4h",
    params:
        asked=SPREAD_OPTIONS,
        commands=spread_commands,
    message:
        "Spread of all seeds on {wildcards.graph} under {wildcards.model}"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


use rule evaluate_spread as evaluate_worlds with:
    input:
        graph="<results>/graphs/{graph}.h5",
        seeds=lambda wildcards: [seeds(wildcards, method, "ic") for method in SIMULATORS],
        warm="<results>/warm-up/metrics.h5",
    output:
        metrics=[f"<results>/spread/{{graph}}/worlds/{method}.h5" for method in SIMULATORS],
        records=[f"<results>/spread/{{graph}}/worlds/{method}.json" for method in SIMULATORS],
    log:
        "<logs>/spread/{graph}-worlds.log",
    benchmark:
        "<benchmarks>/spread/{graph}-worlds.tsv"
    message:
        "Spread of all seeds on {wildcards.graph} under independent cascade"


# Each of the user's seed files in a separate job, so that a wrong file does not affect the others.
if OWN_SEEDS:

    use rule evaluate_spread as evaluate_own with:
        input:
            graph="<results>/graphs/{graph}.h5",
            seeds=lambda wildcards: [OWN_SEEDS[wildcards.own]],
            warm="<results>/warm-up/metrics.h5",
            given=TARGET_FILES,
        output:
            metrics=["<results>/spread/{graph}/{model}/{own}.h5"],
            records=["<results>/spread/{graph}/{model}/{own}.json"],
        log:
            "<logs>/spread/{graph}-{model}-{own}.log",
        benchmark:
            "<benchmarks>/spread/{graph}-{model}-{own}.tsv"
        message:
            "Spread of {wildcards.own} on {wildcards.graph} under {wildcards.model}"

    use rule evaluate_own as evaluate_own_worlds with:
        input:
            graph="<results>/graphs/{graph}.h5",
            seeds=lambda wildcards: [OWN_SEEDS[wildcards.own]],
            warm="<results>/warm-up/metrics.h5",
        output:
            metrics=["<results>/spread/{graph}/worlds/{own}.h5"],
            records=["<results>/spread/{graph}/worlds/{own}.json"],
        log:
            "<logs>/spread/{graph}-worlds-{own}.log",
        benchmark:
            "<benchmarks>/spread/{graph}-worlds-{own}.tsv"
        message:
            "Spread of {wildcards.own} on {wildcards.graph} under independent cascade"


rule evaluate_warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        metrics="<results>/warm-up/metrics.h5",
    log:
        "<logs>/spread/warm-up.log",
    benchmark:
        "<benchmarks>/spread/warm-up.tsv"
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
                [
                    "evaluate",
                    "spread",
                    input.graph,
                    "--ids",
                    "0,1",
                    "--model",
                    model,
                    "--runs",
                    "64",
                    "--out",
                    output.metrics,
                ]
                for model in ("ic", "lt")
            ]
        ),
    message:
        "Compiling the simulation of cascades"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


# The truth is computed once for the answers of all methods and lengths.
rule evaluate_ppr:
    input:
        graph="<results>/graphs/{graph}.h5",
        answers=[f"<results>/kpar/{{graph}}/{ranking}-{k}.h5" for ranking in RANKINGS for k in config["kpar"]["k"]],
    output:
        records=[
            f"<results>/kpar/{{graph}}/{ranking}-{k}.quality.json" for ranking in RANKINGS for k in config["kpar"]["k"]
        ],
    log:
        "<logs>/kpar/{graph}-quality.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-quality.tsv"
    conda:
        CPU_ENV
    threads: config["threads"]
    resources:
        mem_mb=memory(16000, copies=4),
        runtime="2h",
    params:
        answers=lambda wildcards, input: [f"--answers={path}" for path in input.answers],
        records=lambda wildcards, output: [f"--record={path}" for path in output.records],
    message:
        "Quality of the answers on {wildcards.graph}"
    shell:
        "python -m gpukit evaluate ppr {input.graph:q} {params.answers:q} {params.records:q} --threads {threads} > {log:q} 2>&1"


rule evaluate_diversity:
    input:
        graph="<results>/graphs/{graph}.h5",
        answers=[f"<results>/diversity/{{graph}}/{circle}.h5" for circle in config["diversity"]["models"]],
    output:
        records=[f"<results>/diversity/{{graph}}/{circle}.check.json" for circle in config["diversity"]["models"]],
    log:
        "<logs>/diversity/{graph}-check.log",
    benchmark:
        "<benchmarks>/diversity/{graph}-check.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime="4h",
    params:
        asked=CHECK_OPTIONS,
        commands=lambda wildcards, input, output: lines(
            [
                ["evaluate", "diversity", input.graph, "--answers", found, *CHECK_OPTIONS, "--json"]
                for found in input.answers
            ],
            output.records,
        ),
    message:
        "Checking the circles found on {wildcards.graph}"
    shell:
        f"{BATCH} > {{log:q}} 2>&1"
