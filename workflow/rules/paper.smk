# The tables and figures of a paper: `--configfile config/paper/NAME.yaml`.
TABLES["items"] = {f"{PAPER}/{item}": f"<results>/items/{item}.tsv" for item in ITEMS}
FIGURES |= {f"item/{item}": f"<results>/items/{item}.svg" for item in ITEMS}
TABLES["graphs"] = {name: f"<results>/graphs/{name}.json" for name in GRAPHS}
if PAPER == "gim":
    TABLES |= {
        f"cells-{item}": {label: f"<results>/cells/{label}.json" for label in cells(item)}
        for item in config["experiments"]
    }
    REACHED = reached()
    if REACHED:
        TABLES["reached"] = {
            "#".join(name.rsplit("/", 1)).removesuffix("#0"): f"<results>/reached/{name}.json" for name in REACHED
        }
if PAPER == "kpar":
    TABLES |= {
        "one-thread-times": by_repeat(
            {
                f"{graph}/{step}": f"<results>/kpar/{graph}/one-thread/{step}.json"
                for graph in RANKED
                for step in ("rank", "index")
            }
        ),
        "one-thread-fora": by_repeat(
            {f"{graph}/fora-16/1": f"<results>/kpar/{graph}/one-thread/fora.json" for graph in RANKED}
        ),
    }
TABLES |= {f"measures-{item}": measured(item) for item in ITEMS if measured(item)}


rule paper_measure:
    input:
        graph="<results>/graphs/{graph}.h5",
    output:
        records=["<results>/measures/{graph}/{measure}.json"],
    log:
        "<logs>/measures/{graph}-{measure}.log",
    benchmark:
        "<benchmarks>/measures/{graph}-{measure}.tsv"
    wildcard_constraints:
        measure=one_of(filter(repeats_itself, MEASURES)),
    conda:
        DEVICE_ENV
    threads: threads_of_measure
    resources:
        gpu=gpus_of_measure,
        where=where,
        mem_mb=memory(16000),
        runtime="6h",
    params:
        asked=lambda wildcards: command_of(wildcards),
        commands=measure_commands,
    message:
        "{wildcards.measure} on {wildcards.graph}"
    shell:
        f"{BATCH} -- {{resources.where}} > {{log:q}} 2>&1"


# The same for commands that write an artifact and are repeated by this rule.
use rule paper_measure as paper_run with:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm=["<results>/warm-up/imgpu.h5"] if PAPER == "imgpu" else [],
    output:
        artifact="<results>/measures/{graph}/{measure}.h5",
        records=again("<results>/measures/{graph}/{measure}.json"),
    wildcard_constraints:
        measure=one_of(name for name in MEASURES if not repeats_itself(name)),


# Seeds that a measure of IMGPU's paper chose are simulated one by one; their methods may have the demo's names.
use rule evaluate_spread as paper_spread with:
    input:
        graph="<results>/graphs/{graph}.h5",
        seeds=["<results>/measures/{graph}/{method}.h5"],
        warm="<results>/warm-up/metrics.h5",
    output:
        metrics=["<results>/spread/{graph}/{model}/{method}.h5"],
        records=["<results>/spread/{graph}/{model}/{method}.json"],
    log:
        "<logs>/spread/{graph}-{model}-{method}.log",
    benchmark:
        "<benchmarks>/spread/{graph}-{model}-{method}.tsv"
    message:
        "Spread of {wildcards.method}'s seeds on {wildcards.graph} under {wildcards.model}"


ruleorder: paper_spread > evaluate_spread


# The spread of the seeds of gIM's table 2.
use rule evaluate_spread as paper_reached with:
    input:
        graph="<results>/graphs/{graph}.h5",
        seeds=lambda wildcards: [
            f"<results>/cells/{REACHED[f'{wildcards.graph}/{wildcards.method}/{wildcards.repeat}']}.h5"
        ],
        warm="<results>/warm-up/metrics.h5",
    output:
        metrics=["<results>/reached/{graph}/{method}/{repeat}.h5"],
        records=["<results>/reached/{graph}/{method}/{repeat}.json"],
    log:
        "<logs>/reached/{graph}-{method}-{repeat}.log",
    benchmark:
        "<benchmarks>/reached/{graph}-{method}-{repeat}.tsv"
    wildcard_constraints:
        method="gim|skim",
        repeat="[0-9]+",
    params:
        asked=until(),
        commands=lambda wildcards, input, output: lines(
            [
                ["evaluate", "spread", input.graph, "--seeds", input.seeds[0], "--model", "ic", *until()]
                + ["--seed", config["seed"], "--out", output.metrics[0], "--json"]
            ],
            output.records,
        ),
    message:
        "Spread of {wildcards.method}'s seeds on {wildcards.graph}"


# The repeats of a run in one process: they do the same work, and a process often takes longer to start than a run.
rule paper_cell:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/seeds.h5",
    output:
        seeds=[f"<results>/cells/{CELL}/{repeat}.h5" for repeat in REPEATS],
        records=[f"<results>/cells/{CELL}/{repeat}.json" for repeat in REPEATS],
    log:
        f"<logs>/cells/{CELL}.log",
    benchmark:
        f"<benchmarks>/cells/{CELL}.tsv"
    wildcard_constraints:
        method="imm|imm-16|skim|gim|gim-ours",
        epsilon="[0-9.]+(e-[0-9]+)?",
        rounds="[0-9]+",
        sampler="skip|scan",
        block="[0-9]+",
        grid="[0-9]+",
    conda:
        DEVICE_ENV
    threads: lambda wildcards: {"imm": 1, "skim": 1, **PRINTED_THREADS}.get(wildcards.method, THREADS)
    resources:
        gpu=lambda wildcards: GPUS if wildcards.method.startswith("gim") else 0,
        where=where_of_cell,
        mem_mb=memory(8000),
        runtime=lambda wildcards: 120 + 60 * len(REPEATS),
    params:
        asked=lambda wildcards: cell_words(wildcards),
        commands=lambda wildcards, input, output: lines(
            [
                [*cell_words(wildcards, repeat), input.graph, "--out", out, "--json"]
                for repeat, out in enumerate(output.seeds)
            ],
            output.records,
        ),
    message:
        "{wildcards.method} on {wildcards.graph}: {wildcards.model}, k {wildcards.k}, epsilon {wildcards.epsilon}"
    shell:
        f"{BATCH} -- {{resources.where}} > {{log:q}} 2>&1"


# Figure 9 of kPAR: an index without adaptive walks, and queries on it with less and less balance of work.
use rule kpar_index as paper_kpar_uniform with:
    output:
        index="<results>/kpar/{graph}/uniform.h5",
        record="<results>/kpar/{graph}/uniform.json",
    log:
        "<logs>/kpar/{graph}-uniform.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-uniform.tsv"
    params:
        options=options_of(config, "kpar"),
        seed=config["seed"],
        command="papers kpar index",
        more="--uniform",
    message:
        "Inverted random walks of {wildcards.graph}, as many from every vertex"


use rule kpar_query as paper_kpar_ablation with:
    input:
        graph="<results>/graphs/{graph}.h5",
        index="<results>/kpar/{graph}/uniform.h5",
    output:
        answers=[f"<results>/kpar/{{graph}}/{{ablation}}-{k}.h5" for k in config["kpar"]["k"]],
        records=[f"<results>/kpar/{{graph}}/{{ablation}}-{k}.json" for k in config["kpar"]["k"]],
    log:
        "<logs>/kpar/{graph}-{ablation}.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-{ablation}.tsv"
    wildcard_constraints:
        ablation="|".join(ABLATIONS),
    params:
        asked=lambda wildcards: [*QUERY_OPTIONS, ABLATIONS[wildcards.ablation]],
        commands=query_commands,
    message:
        "{wildcards.ablation} on {wildcards.graph} from the sources of kPAR"


# Table 3 of kPAR: preprocessing on one CPU thread, repeated as often as other timed runs.
rule paper_kpar_one_thread:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/kpar.h5",
    output:
        rank="<results>/kpar/{graph}/one-thread/rank.h5",
        index="<results>/kpar/{graph}/one-thread/index.h5",
        records=[
            record
            for step in ("rank", "index", "fora")
            for record in again(f"<results>/kpar/{{graph}}/one-thread/{step}.json")
        ],
    log:
        "<logs>/kpar/{graph}-one-thread.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-one-thread.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=memory(16000),
        runtime="6h",
    params:
        commands=one_thread_commands,
    message:
        "Preprocessing of {wildcards.graph} on one thread, by kPAR and by FORA+"
    shell:
        f"{BATCH} -- --device cpu --gpus 0 --threads {{threads}} > {{log:q}} 2>&1"


rule paper_item:
    input:
        tables=lambda wildcards: [f"<results>/tables/{name}.tsv" for name in item_tables(wildcards).values()],
        printed=f"{CHECKOUT}/workflow/paper/{PAPER}.tsv",
    output:
        table=report("<results>/items/{item}.tsv", caption="../report/item.rst", category="Paper"),
        figure=report("<results>/items/{item}.svg", caption="../report/item.rst", category="Paper"),
    log:
        "<logs>/report/{item}.log",
    benchmark:
        "<benchmarks>/report/{item}.tsv"
    wildcard_constraints:
        item="|".join(ITEMS),
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        paper=PAPER,
        tables=lambda wildcards, input: [f"--table={one}" for one in labelled(item_tables(wildcards), input.tables)],
    message:
        "{wildcards.item} of the paper"
    shell:
        "python -m gpukit papers report item {params.paper} {wildcards.item} {params.tables:q} --printed {input.printed:q}"
        " --out {output.table:q} --figure {output.figure:q} > {log:q} 2>&1"


rule paper_claims:
    input:
        claims=f"{CHECKOUT}/workflow/paper/claims/{PAPER}.tsv",
        rows="<results>/tables/items.tsv",
    output:
        table=report("<results>/tables/claims.tsv", caption="../report/claims.rst", category="Paper"),
    log:
        "<logs>/report/claims.log",
    benchmark:
        "<benchmarks>/report/claims.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        scale=config["scale"],
    message:
        "What held of what the paper claims"
    shell:
        "python -m gpukit papers report claims {input.claims:q} --items {input.rows:q} --scale {params.scale} --out {output.table:q}"
        " > {log:q} 2>&1"
