MERIT_VIEWS = ("cost", "time", "phases")
ETAS = sorted(config["merit"]["eta"])
# MERIT and its competitors: the command of each, and its options.
POLICIES = {
    "coupled": (["merit", "run"], []),
    "regenerate": (["papers", "merit", "run"], ["--update", "regenerate"]),
    "anew": (["papers", "merit", "run"], ["--update", "regenerate", "--fresh-ids"]),
}
COSTS, COST_FILES = given("merit", "costs")
MERIT_OPTIONS = [
    *(*options_of(config, "merit"), "--worlds", config["merit"]["worlds"], "--seed", config["seed"]),
    *(COSTS if config["merit"]["costs"] != "degree" else []),
]

if CAMPAIGNS:
    RUNS = {
        f"{graph}/{model}/{policy}/{eta}": f"<results>/merit/{graph}/{model}/{policy}-{eta}"
        for graph, model in CAMPAIGNS
        for policy in config["merit"]["policies"]
        for eta in ETAS
    }
    TABLES["merit-campaigns"] = {label: f"{path}.json" for label, path in RUNS.items()}
    FIGURES |= {
        f"merit-{view}/{graph}/{model}": f"<results>/figures/merit-{view}-{graph}-{model}.svg"
        for graph, model in CAMPAIGNS
        for view in MERIT_VIEWS
    }
    ARTIFACTS += [f"{path}.h5" for path in RUNS.values()]


# As for gIM: timed runs should not include compilation.
rule merit_warm_up:
    input:
        graph="<results>/warm-up/graph.h5",
    output:
        campaign="<results>/warm-up/merit.h5",
    log:
        "<logs>/merit/warm-up.log",
    benchmark:
        "<benchmarks>/merit/warm-up.tsv"
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
                [
                    *command,
                    input.graph,
                    "--out",
                    output.campaign,
                    "--eta",
                    20,
                    "--batch",
                    4,
                    "--model",
                    model,
                    *options,
                ]
                for model in ("ic", "lt")
                for command, options in (POLICIES["coupled"], POLICIES["regenerate"])
            ]
        ),
    message:
        "Compiling the kernels of MERIT"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"


rule merit_run:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/merit.h5",
        given=COST_FILES,
    output:
        campaigns=[f"<results>/merit/{{graph}}/{{model}}/{{policy}}-{eta}.h5" for eta in ETAS],
        records=[f"<results>/merit/{{graph}}/{{model}}/{{policy}}-{eta}.json" for eta in ETAS],
    log:
        "<logs>/merit/{graph}-{model}-{policy}.log",
    benchmark:
        "<benchmarks>/merit/{graph}-{model}-{policy}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=memory(8000),
        runtime="4h",
    params:
        asked=MERIT_OPTIONS,
        commands=lambda wildcards, input, output: lines(
            [
                [*POLICIES[wildcards.policy][0], input.graph, "--out", out, "--eta", eta, "--model", wildcards.model]
                + [*MERIT_OPTIONS, *POLICIES[wildcards.policy][1], "--json"]
                for eta, out in zip(ETAS, output.campaigns, strict=True)
            ],
            output.records,
        ),
    message:
        "MERIT, {wildcards.policy}: campaigns on {wildcards.graph} under {wildcards.model}"
    shell:
        f"{BATCH} {WHERE} > {{log:q}} 2>&1"
