MERIT_VIEWS = ("cost", "time", "phases")
UPDATES = {"coupled": "coupled", "regenerate": "regenerate", "anew": "regenerate --fresh-ids"}

if CAMPAIGNS:
    RUNS = {
        f"{graph}/{model}/{policy}/{eta}": f"<results>/merit/{graph}/{model}/{policy}-{eta}"
        for graph, model in CAMPAIGNS
        for policy in config["merit"]["policies"]
        for eta in sorted(config["merit"]["eta"])
    }
    TABLES["merit-campaigns"] = {label: f"{path}.json" for label, path in RUNS.items()}
    FIGURES |= {
        f"merit-{view}/{graph}/{model}": f"<results>/figures/merit-{view}-{graph}-{model}.svg"
        for graph, model in CAMPAIGNS
        for view in MERIT_VIEWS
    }
    ARTIFACTS += [f"{path}.h5" for path in RUNS.values()]


# As for gIM: the runs that count should not be those that compile.
rule merit_warm_up:
    output:
        graph="<results>/warm-up/merit-graph.h5",
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
    message:
        "Compiling the kernels of MERIT"
    shell:
        "(python -m gpukit graph generate er --vertices 64 --edges 256 --out {output.graph:q};"
        " for model in ic lt; do for update in coupled regenerate; do"
        " python -m gpukit merit run {output.graph:q} --eta 20 --batch 4 --model $model --update $update --out {output.campaign:q}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers}; done; done)"
        " > {log:q} 2>&1"


rule merit_run:
    input:
        graph="<results>/graphs/{graph}.h5",
        warm="<results>/warm-up/merit.h5",
    output:
        campaigns="<results>/merit/{graph}/{model}/{policy}-{eta}.h5",
        record="<results>/merit/{graph}/{model}/{policy}-{eta}.json",
    log:
        "<logs>/merit/{graph}-{model}-{policy}-{eta}.log",
    benchmark:
        "<benchmarks>/merit/{graph}-{model}-{policy}-{eta}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=ONE_GPU,
        workers=workers,
        mem_mb=8000,
        runtime="2h",
    params:
        policy=lambda wildcards: UPDATES[wildcards.policy],
        options=f"--batch {config['merit']['batch']} --epsilon {config['merit']['epsilon']}",
        worlds=config["merit"]["worlds"],
        seed=config["seed"],
    message:
        "MERIT, {wildcards.policy}: campaigns for {wildcards.eta} vertices of {wildcards.graph} under {wildcards.model}"
    shell:
        "python -m gpukit merit run {input.graph:q} --out {output.campaigns:q} --eta {wildcards.eta} --model {wildcards.model}"
        " --update {params.policy} {params.options} --worlds {params.worlds} --seed {params.seed}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"
