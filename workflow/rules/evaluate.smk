rule evaluate_spread:
    input:
        graph="<results>/graphs/{graph}.h5",
        seeds=seeds,
    output:
        metrics="<results>/spread/{graph}/{model}/{method}.h5",
        record="<results>/spread/{graph}/{model}/{method}.json",
    log:
        "<logs>/spread/{graph}-{model}-{method}.log",
    benchmark:
        "<benchmarks>/spread/{graph}-{model}-{method}.tsv"
    conda:
        DEVICE_ENV
    threads: THREADS
    resources:
        device=DEVICE,
        gpu=GPUS,
        workers=workers,
        mem_mb=4000,
        runtime="1h",
    params:
        prefixes=",".join(map(str, config["evaluate"]["prefixes"])),
        runs=config["evaluate"]["runs"],
        seed=config["seed"],
    message:
        "Spread of {wildcards.method}'s seeds on {wildcards.graph} under {wildcards.model}"
    shell:
        "python -m gpukit evaluate spread {input.graph:q} --seeds {input.seeds:q} --model {wildcards.model}"
        " --prefixes {params.prefixes} --runs {params.runs} --seed {params.seed} --out {output.metrics:q}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"
