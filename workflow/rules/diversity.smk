if CIRCLES:
    TABLES["diversity-runs"] = by_label("<results>/diversity/{}/{}.json", CIRCLES)
    TABLES["diversity-top"] = by_label("<results>/diversity/{}/{}.h5", CIRCLES)
    TABLES["diversity-checks"] = by_label("<results>/diversity/{}/{}.check.json", CIRCLES)
    FIGURES["scores"] = "<results>/figures/scores.svg"
    FIGURES["diversity-time"] = "<results>/figures/diversity-time.svg"
    FIGURES |= by_label("<results>/figures/ego-{}-{}.svg", CIRCLES, "ego/")
    ARTIFACTS += list(TABLES["diversity-top"].values())
    ASIDE += [f"<results>/diversity/{graph}/{model}-ego.{end}" for graph, model in CIRCLES for end in ("h5", "json")]


# As for gIM: the runs that count should not be those that compile.
rule diversity_warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        answer="<results>/warm-up/diversity.h5",
    log:
        "<logs>/diversity/warm-up.log",
    benchmark:
        "<benchmarks>/diversity/warm-up.tsv"
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
                shlex.split(f"diversity search --undirected --model {circle} -k 3 -t 8")
                + [input.graph, "--out", output.answer]
                for circle in ("comp", "core", "truss")
            ]
        ),
    message:
        "Compiling the kernels of structural diversity"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


rule diversity_search:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/diversity.h5",
    output:
        answer="<results>/diversity/{graph}/{circle}.h5",
        record="<results>/diversity/{graph}/{circle}.json",
    log:
        "<logs>/diversity/{graph}-{circle}.log",
    benchmark:
        "<benchmarks>/diversity/{graph}-{circle}.tsv"
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
        k=config["diversity"]["k"],
        t=config["diversity"]["t"],
        directions=directions,
        more="",
    message:
        "The {params.t} vertices of {wildcards.graph} with the most {wildcards.circle} contexts"
    shell:
        "python -m gpukit diversity search {input.graph:q} --out {output.answer:q} --model {wildcards.circle}"
        " -k {params.k} -t {params.t} {params.directions} {params.more}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


# The ego-network of the first vertex alone: those of all vertices can take many times the space of the graph.
rule diversity_egos:
    input:
        graph="<results>/graphs/{graph}.h5",
        found="<results>/diversity/{graph}/{circle}.json",
    output:
        egos="<results>/diversity/{graph}/{circle}-ego.h5",
        record="<results>/diversity/{graph}/{circle}-ego.json",
    log:
        "<logs>/diversity/{graph}-{circle}-ego.log",
    benchmark:
        "<benchmarks>/diversity/{graph}-{circle}-ego.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=memory(8000),
        runtime="30m",
    params:
        first="""python -c 'import json, sys; print(json.load(sys.stdin)["top"][0]["vertex"])'""",
        directions=directions,
    message:
        "The ego-network of the vertex of {wildcards.graph} with the most {wildcards.circle} contexts"
    shell:
        "python -m gpukit diversity egos {input.graph:q} --out {output.egos:q} --vertices $({params.first} < {input.found:q})"
        " {params.directions}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


# The same search in ranges of vertices, and the best of all ranges.
use rule diversity_search as diversity_part with:
    output:
        answer="<results>/shards/diversity/{graph}-{circle}/{part}.h5",
        record="<results>/shards/diversity/{graph}-{circle}/{part}.json",
    log:
        "<logs>/shards/diversity-{graph}-{circle}-{part}.log",
    benchmark:
        "<benchmarks>/shards/diversity-{graph}-{circle}-{part}.tsv"
    params:
        k=config["diversity"]["k"],
        t=config["diversity"]["t"],
        directions=directions,
        more=lambda wildcards: f"--part {wildcards.part}/{config['shards']['count']}",
    message:
        "The {params.t} vertices of part {wildcards.part} of {wildcards.graph} with the most {wildcards.circle} contexts"


use rule kpar_gather as diversity_gather with:
    input:
        answers=parts("<results>/shards/diversity/{graph}-{circle}/{part}.h5"),
    output:
        answers="<results>/diversity/{graph}/{circle}-gathered.h5",
    log:
        "<logs>/diversity/{graph}-{circle}-gathered.log",
    benchmark:
        "<benchmarks>/diversity/{graph}-{circle}-gathered.tsv"
    params:
        system="diversity",
    message:
        "The vertices of {wildcards.graph} with the most {wildcards.circle} contexts out of all parts"
