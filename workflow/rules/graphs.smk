rule import_graph:
    input:
        edges=edges,
    output:
        graph="<results>/graphs/{graph}.h5",
        record="<results>/graphs/{graph}.json",
    log:
        "<logs>/graphs/{graph}.log",
    benchmark:
        "<benchmarks>/graphs/{graph}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        options=import_options,
        seed=config["seed"],
    message:
        "Importing {wildcards.graph}"
    shell:
        "python -m gpukit graph import {input.edges:q} --out {output.graph:q} {params.options} --seed {params.seed}"
        " --threads {threads} --json > {output.record:q} 2> {log:q}"
