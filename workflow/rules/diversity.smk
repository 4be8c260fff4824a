SEARCH_OPTIONS = [*options_of(config, "diversity"), "-t", config["diversity"]["t"]]

if CIRCLES:
    TABLES["diversity-runs"] = by_label("<results>/diversity/{}/{}.json", CIRCLES)
    TABLES["diversity-top"] = by_label("<results>/diversity/{}/{}.h5", CIRCLES)
    TABLES["diversity-checks"] = by_label("<results>/diversity/{}/{}.check.json", CIRCLES)
    FIGURES["scores"] = "<results>/figures/scores.svg"
    FIGURES["diversity-time"] = "<results>/figures/diversity-time.svg"
    FIGURES |= by_label("<results>/figures/ego-{}-{}.svg", CIRCLES, "ego/")
    ARTIFACTS += list(TABLES["diversity-top"].values())
    ASIDE += [f"<results>/diversity/{graph}/egos.{end}" for graph in on("diversity") for end in ("h5", "json")]


# As for gIM: timed runs should not include compilation.
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


# All models of a graph run in one process, because its start takes longer than a search.
rule diversity_search:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/diversity.h5",
    output:
        answers=[f"<results>/diversity/{{graph}}/{circle}.h5" for circle in config["diversity"]["models"]],
        records=[f"<results>/diversity/{{graph}}/{circle}.json" for circle in config["diversity"]["models"]],
    log:
        "<logs>/diversity/{graph}.log",
    benchmark:
        "<benchmarks>/diversity/{graph}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=memory(8000),
        runtime="2h",
    params:
        asked=SEARCH_OPTIONS,
        directions=directions,
        commands=search_commands,
    message:
        "The vertices of {wildcards.graph} with the most circles"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


# Only the ego-networks of each model's first vertex: those of all vertices can be many times as large as the graph.
rule diversity_egos:
    input:
        graph="<results>/graphs/{graph}.h5",
        found=[f"<results>/diversity/{{graph}}/{circle}.json" for circle in config["diversity"]["models"]],
    output:
        egos="<results>/diversity/{graph}/egos.h5",
        record="<results>/diversity/{graph}/egos.json",
    log:
        "<logs>/diversity/{graph}-egos.log",
    benchmark:
        "<benchmarks>/diversity/{graph}-egos.tsv"
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
        # Names may contain blanks and commas; a vertex that is first under several models is named only once.
        first="""python -c 'import csv, json, sys; csv.writer(sys.stdout, lineterminator="").writerow("""
        """{json.load(open(path))["top"][0]["vertex"]: 0 for path in sys.argv[1:]})'""",
        directions=directions,
    message:
        "The ego-networks of the vertices of {wildcards.graph} with the most circles"
    shell:
        'python -m gpukit diversity egos {input.graph:q} --out {output.egos:q} --vertices="$({params.first} {input.found:q})"'
        " {params.directions}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


# The same searches by ranges of vertices, and the best of all ranges.
use rule diversity_search as diversity_part with:
    output:
        answers=[
            f"<results>/shards/diversity/{{graph}}-{circle}/{{part}}.h5" for circle in config["diversity"]["models"]
        ],
        records=[
            f"<results>/shards/diversity/{{graph}}-{circle}/{{part}}.json" for circle in config["diversity"]["models"]
        ],
    log:
        "<logs>/shards/diversity-{graph}-{part}.log",
    benchmark:
        "<benchmarks>/shards/diversity-{graph}-{part}.tsv"
    params:
        asked=[*SEARCH_OPTIONS, config["shards"]["count"]],
        directions=directions,
        commands=search_commands,
    message:
        "The vertices of part {wildcards.part} of {wildcards.graph} with the most circles"


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
        "The vertices of {wildcards.graph} with the most {wildcards.circle} circles out of all parts"
