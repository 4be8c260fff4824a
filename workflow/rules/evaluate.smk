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
        runs=simulated,
        seed=config["seed"],
    message:
        "Spread of {wildcards.method}'s seeds on {wildcards.graph} under {wildcards.model}"
    shell:
        "python -m gpukit evaluate spread {input.graph:q} --seeds {input.seeds:q} --model {wildcards.model}"
        " --prefixes {params.prefixes} {params.runs} --seed {params.seed} --out {output.metrics:q}"
        " --device {resources.device} --gpus {resources.gpu} --threads {resources.workers} --json > {output.record:q} 2> {log:q}"


rule evaluate_ppr:
    input:
        graph="<results>/graphs/{graph}.h5",
        answers="<results>/kpar/{graph}/{ranking}-{k}.h5",
    output:
        record="<results>/kpar/{graph}/{ranking}-{k}.quality.json",
    log:
        "<logs>/kpar/{graph}-{ranking}-{k}-quality.log",
    benchmark:
        "<benchmarks>/kpar/{graph}-{ranking}-{k}-quality.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=4000,
        runtime="2h",
    message:
        "Quality of {wildcards.ranking}'s top {wildcards.k} on {wildcards.graph}"
    shell:
        "python -m gpukit evaluate ppr {input.graph:q} --answers {input.answers:q} --json > {output.record:q} 2> {log:q}"


rule evaluate_diversity:
    input:
        graph="<results>/graphs/{graph}.h5",
        answers="<results>/diversity/{graph}/{circle}.h5",
    output:
        record="<results>/diversity/{graph}/{circle}.check.json",
    log:
        "<logs>/diversity/{graph}-{circle}-check.log",
    benchmark:
        "<benchmarks>/diversity/{graph}-{circle}-check.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=4000,
        runtime="2h",
    params:
        sample=config["diversity"]["check"],
        seed=config["seed"],
    message:
        "Checking the {wildcards.circle} contexts found on {wildcards.graph}"
    shell:
        "python -m gpukit evaluate diversity {input.graph:q} --answers {input.answers:q} --sample {params.sample}"
        " --seed {params.seed} --json > {output.record:q} 2> {log:q}"
