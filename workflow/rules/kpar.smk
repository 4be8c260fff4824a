# The sources of queries: a number of random vertices, or those of a file, which may be written from the configuration's
# list. A paper times no queries from vertices without out-edges.
SOURCES, SOURCE_FILES = config["kpar"]["sources"], []
QUERIES = ["--random", SOURCES, *["--out-edges"] * bool(PAPER)]
if not isinstance(SOURCES, int):
    SOURCE_FILES = [
        str(find_file(SOURCES, PLACES) or SOURCES) if isinstance(SOURCES, str) else "<results>/kpar/sources.txt"
    ]
    QUERIES = ["--sources", SOURCE_FILES[0].replace("<results>", config["results"])]
REPEATED = ["--repeat", len(REPEATS)] if len(REPEATS) > 1 else []
# The paper does not resolve near ties.
DEPTH = ["--depth", "auto"] if PAPER == "kpar" else []
QUERY_OPTIONS = [*QUERIES, "--seed", config["seed"], *REPEATED, *DEPTH]
RANKING_OPTIONS = [*QUERIES, *options_of(config, "kpar"), "--seed", config["seed"]]
WALK_OPTIONS = options_of(config, "kpar", "alpha", "weighted")

RANKING_WORDS = {
    "fora": ["--method", "fora"],
    "fora-16": ["--method", "fora", "--delta", 16],
    "fora-cpu": ["--method", "fora", "--delta", 16],
    "topppr": ["--method", "topppr"],
    "monte-carlo": ["--method", "monte-carlo"],
}

# TopPPR takes the longest, and the paper prints it only for the largest k.
REPEATED_AT = {"topppr": [max(config["kpar"]["k"])]}


if RANKED:
    MOST = max(config["kpar"]["k"])
    ANSWERS = {
        f"{graph}/{ranking}/{k}": f"<results>/kpar/{graph}/{ranking}-{k}"
        for graph in RANKED
        for ranking in RANKINGS
        for k in sorted(config["kpar"]["k"])
    }
    INDEXES = {graph: f"<results>/kpar/{graph}/index.h5" for graph in RANKED}
    TABLES["kpar-times"] = {
        f"{graph}/{step}": f"<results>/kpar/{graph}/{step}.json" for graph in RANKED for step in ("rank", "index")
    }
    TABLES["kpar-index"] = TABLES["kpar-arrivals"] = INDEXES
    TABLES["kpar-quality"] = {label: f"{path}.quality.json" for label, path in ANSWERS.items()}
    TABLES["kpar-queries"] = {label: f"{path}.json" for label, path in ANSWERS.items()} | {
        f"{graph}/truth/{MOST}": f"<results>/kpar/{graph}/truth.json" for graph in RANKED
    }
    TABLES["kpar-answers"] = {
        f"{graph}/{name}": f"<results>/kpar/{graph}/{file}.h5"
        for graph in RANKED
        for name, file in (("kpar", f"kpar-{MOST}"), ("truth", "truth"))
    }
    FIGURES["arrivals"] = "<results>/figures/arrivals.svg"
    FIGURES |= {
        f"kpar-{quantity}/{graph}": f"<results>/figures/kpar-{quantity}-{graph}.svg"
        for graph in RANKED
        for quantity in ("time",)
    }
    ARTIFACTS += [f"<results>/kpar/{graph}/rank.h5" for graph in RANKED] + list(INDEXES.values())
    ASIDE += ["<results>/kpar/sources.txt"] * isinstance(SOURCES, list)
    ARTIFACTS += [f"{path}.h5" for path in ANSWERS.values()]


# As for gIM: timed runs should not include compilation.
rule kpar_warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        rank="<results>/warm-up/kpar-rank.h5",
        index="<results>/warm-up/kpar-index.h5",
        answers="<results>/warm-up/kpar.h5",
    log:
        "<logs>/kpar/warm-up.log",
    benchmark:
        "<benchmarks>/kpar/warm-up.tsv"
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
                ["kpar", "rank", input.graph, "--out", output.rank],
                ["kpar", "index", input.graph, "--rank", output.rank, "--out", output.index],
                *(
                    ["papers", "kpar", "baseline", input.graph, "--method", method, "--random", "2", "-k", "2"]
                    for method in ("fora", "monte-carlo")
                ),
                [
                    "kpar",
                    "query",
                    input.graph,
                    "--index",
                    output.index,
                    "--random",
                    "2",
                    "-k",
                    "2",
                    "--out",
                    output.answers,
                ],
            ]
        ),
    message:
        "Compiling the kernels of kPAR"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


if isinstance(SOURCES, list):

    rule kpar_sources:
        output:
            sources="<results>/kpar/sources.txt",
        log:
            "<logs>/kpar/sources.log",
        benchmark:
            "<benchmarks>/kpar/sources.tsv"
        conda:
            CPU_ENV
        threads: 1
        resources:
            mem_mb=100,
            runtime="5m",
        params:
            sources=[str(one) for one in SOURCES],
        message:
            "The sources of the queries"
        shell:
            "printf '%s\\n' {params.sources:q} > {output.sources:q} 2> {log:q}"


rule kpar_rank:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/kpar.h5",
    output:
        rank="<results>/kpar/{graph}/rank.h5",
        record="<results>/kpar/{graph}/rank.json",
    log:
        "<logs>/kpar/{graph}-rank.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-rank.tsv"
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
        options=WALK_OPTIONS,
    message:
        "PageRank of {wildcards.graph}"
    shell:
        "python -m gpukit kpar rank {input.graph:q} --out {output.rank:q} {params.options}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


rule kpar_index:
    input:
        graph="<results>/graphs/{graph}.h5",
        rank="<results>/kpar/{graph}/rank.h5",
    output:
        index="<results>/kpar/{graph}/index.h5",
        record="<results>/kpar/{graph}/index.json",
    log:
        "<logs>/kpar/{graph}-index.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-index.tsv"
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
        options=options_of(config, "kpar"),
        seed=config["seed"],
        command="kpar index",
        more="",
    message:
        "Inverted random walks of {wildcards.graph}"
    shell:
        "python -m gpukit {params.command} {input.graph:q} --rank {input.rank:q} --out {output.index:q} {params.options}"
        " --seed {params.seed} {params.more}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


# All lengths in one process, because its start takes longer than some queries.
rule kpar_query:
    input:
        graph="<results>/graphs/{graph}.h5",
        index="<results>/kpar/{graph}/index.h5",
        sources=SOURCE_FILES,
    output:
        answers=[f"<results>/kpar/{{graph}}/kpar-{k}.h5" for k in config["kpar"]["k"]],
        records=[f"<results>/kpar/{{graph}}/kpar-{k}.json" for k in config["kpar"]["k"]],
    log:
        "<logs>/kpar/{graph}-kpar.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-kpar.tsv"
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
        asked=QUERY_OPTIONS,
        commands=query_commands,
    message:
        "kPAR on {wildcards.graph}"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


rule kpar_baseline:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/kpar.h5",
        sources=SOURCE_FILES,
    output:
        answers=[f"<results>/kpar/{{graph}}/{{ranking}}-{k}.h5" for k in config["kpar"]["k"]],
        records=[f"<results>/kpar/{{graph}}/{{ranking}}-{k}.json" for k in config["kpar"]["k"]],
    log:
        "<logs>/kpar/{graph}-{ranking}.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-{ranking}.tsv"
    wildcard_constraints:
        ranking="|".join(RANKING_WORDS),
    conda:
        DEVICE_ENV
    threads: lambda wildcards: PRINTED_THREADS.get(wildcards.ranking, THREADS)
    resources:
        device=lambda wildcards: "cpu" if wildcards.ranking in PRINTED_THREADS else DEVICE,
        gpu=lambda wildcards: 0 if wildcards.ranking in PRINTED_THREADS else GPUS,
        workers=workers,
        mem_mb=memory(8000),
        runtime="2h",
    params:
        asked=[*RANKING_OPTIONS, *REPEATED],
        commands=lambda wildcards, input, output: lines(
            [
                ["papers", "kpar", "baseline", input.graph, *RANKING_WORDS[wildcards.ranking], "-k", k, "--out", out]
                + [*RANKING_OPTIONS, *(REPEATED if k in REPEATED_AT.get(wildcards.ranking, [k]) else []), "--json"]
                for k, out in zip(config["kpar"]["k"], output.answers, strict=True)
            ],
            output.records,
        ),
    message:
        "{wildcards.ranking} on {wildcards.graph} from the sources of kPAR"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


rule kpar_truth:
    input:
        graph="<results>/graphs/{graph}.h5",
        sources=SOURCE_FILES,
    output:
        answers="<results>/kpar/{graph}/truth.h5",
        record="<results>/kpar/{graph}/truth.json",
    log:
        "<logs>/kpar/{graph}-truth.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-truth.tsv"
    conda:
        CPU_ENV
    threads: config["threads"]
    resources:
        mem_mb=memory(16000, copies=4),
        runtime="2h",
    params:
        options=["-k", max(config["kpar"]["k"]), *WALK_OPTIONS],
        queries=QUERIES,
        seed=config["seed"],
    message:
        "Power method on {wildcards.graph}"
    shell:
        "python -m gpukit kpar truth {input.graph:q} {params.queries:q} {params.options} --seed {params.seed}"
        " --out {output.answers:q} --device cpu --threads {threads} --json > {output.record:q} 2> {log:q}"


# The same queries by ranges, on any number of machines, and one file that joins all answers.
use rule kpar_query as kpar_query_part with:
    output:
        answers=[f"<results>/shards/kpar/{{graph}}-{k}/{{part}}.h5" for k in config["kpar"]["k"]],
        records=[f"<results>/shards/kpar/{{graph}}-{k}/{{part}}.json" for k in config["kpar"]["k"]],
    log:
        "<logs>/shards/kpar-{graph}-{part}.log",
    benchmark:
        "<benchmarks>/shards/kpar-{graph}-{part}.tsv"
    params:
        asked=[*QUERY_OPTIONS, config["shards"]["count"]],
        commands=query_commands,
    message:
        "kPAR on {wildcards.graph}, part {wildcards.part} of the queries"


rule kpar_gather:
    input:
        answers=parts("<results>/shards/kpar/{graph}-{k}/{part}.h5"),
    output:
        answers="<results>/kpar/{graph}/gathered-{k}.h5",
    log:
        "<logs>/kpar/{graph}-gathered-{k}.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-gathered-{k}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime="30m",
    params:
        system="kpar",
    message:
        "kPAR: top {wildcards.k} of {wildcards.graph} out of all parts"
    shell:
        "python -m gpukit {params.system} gather {input.answers:q} --out {output.answers:q} > {log:q} 2>&1"
