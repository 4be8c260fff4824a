rule table_runs:
    input:
        records=per_instance("<results>/runs/{graph}/gim-{model}.json"),
    output:
        table=report("<results>/tables/runs.tsv", caption="../report/runs.rst", category="Tables"),
    log:
        "<logs>/report/table-runs.log",
    benchmark:
        "<benchmarks>/report/table-runs.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        records=lambda wildcards, input: labelled(per_instance("{graph}/{model}"), input.records),
    message:
        "Table of the gIM runs"
    shell:
        "python -m gpukit report table runs {params.records:q} --out {output.table:q} > {log:q} 2>&1"


rule table_seeds:
    input:
        seeds=per_instance("<results>/seeds/{graph}/gim-{model}.h5"),
    output:
        table=report("<results>/tables/seeds.tsv", caption="../report/seeds.rst", category="Tables"),
    log:
        "<logs>/report/table-seeds.log",
    benchmark:
        "<benchmarks>/report/table-seeds.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        records=lambda wildcards, input: labelled(per_instance("{graph}/{model}"), input.seeds),
    message:
        "Table of the seeds that gIM chose"
    shell:
        "python -m gpukit report table seeds {params.records:q} --out {output.table:q} > {log:q} 2>&1"


rule table_spread:
    input:
        metrics=per_method("<results>/spread/{graph}/{model}/{method}.h5"),
    output:
        table=report("<results>/tables/spread.tsv", caption="../report/spread.rst", category="Tables"),
    log:
        "<logs>/report/table-spread.log",
    benchmark:
        "<benchmarks>/report/table-spread.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        records=lambda wildcards, input: labelled(per_method("{graph}/{model}/{method}"), input.metrics),
    message:
        "Table of the spreads"
    shell:
        "python -m gpukit report table spread {params.records:q} --out {output.table:q} > {log:q} 2>&1"


rule table_artifacts:
    input:
        graphs=expand("<results>/graphs/{graph}.h5", graph=GRAPHS),
        seeds=per_instance("<results>/seeds/{graph}/gim-{model}.h5"),
        metrics=per_method("<results>/spread/{graph}/{model}/{method}.h5"),
    output:
        table=report("<results>/tables/artifacts.tsv", caption="../report/artifacts.rst", category="Tables"),
    log:
        "<logs>/report/table-artifacts.log",
    benchmark:
        "<benchmarks>/report/table-artifacts.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Table of the artifacts and their digests"
    shell:
        "python -m gpukit report table artifacts {input:q} --out {output.table:q} > {log:q} 2>&1"


rule plot_spread:
    input:
        table="<results>/tables/spread.tsv",
    output:
        figure=report(
            "<results>/figures/spread-{graph}-{model}.svg", caption="../report/spread.rst", category="Figures"
        ),
    log:
        "<logs>/report/plot-spread-{graph}-{model}.log",
    benchmark:
        "<benchmarks>/report/plot-spread-{graph}-{model}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Figure: spread against k on {wildcards.graph} under {wildcards.model}"
    shell:
        "python -m gpukit report plot spread {input.table:q} --graph {wildcards.graph:q} --model {wildcards.model}"
        " --out {output.figure:q} > {log:q} 2>&1"


rule plot_runtime:
    input:
        table="<results>/tables/runs.tsv",
    output:
        figure=report("<results>/figures/runtime.svg", caption="../report/runtime.rst", category="Figures"),
    log:
        "<logs>/report/plot-runtime.log",
    benchmark:
        "<benchmarks>/report/plot-runtime.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Figure: where the time of the gIM runs went"
    shell:
        "python -m gpukit report plot runtime {input.table:q} --out {output.figure:q} > {log:q} 2>&1"


rule report_page:
    input:
        runs="<results>/tables/runs.tsv",
        seeds="<results>/tables/seeds.tsv",
        spread="<results>/tables/spread.tsv",
        artifacts="<results>/tables/artifacts.tsv",
        runtime="<results>/figures/runtime.svg",
        curves=per_instance("<results>/figures/spread-{graph}-{model}.svg"),
    output:
        page="<results>/report.html",
    log:
        "<logs>/report/page.log",
    benchmark:
        "<benchmarks>/report/page.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        curves=lambda wildcards, input: [
            f"--curve={record}" for record in labelled(per_instance("{graph}/{model}"), input.curves)
        ],
    message:
        "The report page"
    shell:
        "python -m gpukit report page --runs {input.runs:q} --seeds {input.seeds:q} --spread {input.spread:q}"
        " --artifacts {input.artifacts:q} --runtime {input.runtime:q} {params.curves:q} --out {output.page:q} > {log:q} 2>&1"
