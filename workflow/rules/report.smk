# Figures that need nothing but a table.
PLOTS = {
    "runtime": "runs",
    "arrivals": "kpar-arrivals",
    "scores": "diversity-top",
    "diversity-time": "diversity-runs",
}


# Cells and measures are what the items of a paper are made of; the page shows the items.
PAGE_TABLES = [*(kind for kind in TABLES if not kind.startswith(("cells-", "measures-"))), "artifacts"]


rule table:
    input:
        records=lambda wildcards: list(TABLES[wildcards.kind].values()),
    output:
        table=report("<results>/tables/{kind}.tsv", caption="../report/table.rst", category="Tables"),
    log:
        "<logs>/report/table-{kind}.log",
    benchmark:
        "<benchmarks>/report/table-{kind}.tsv"
    wildcard_constraints:
        kind="|".join(TABLES),
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        kind=lambda wildcards: kind_of(wildcards.kind) if PAPER else wildcards.kind,
        records=lambda wildcards, input: labelled(TABLES[wildcards.kind], input.records),
    message:
        "Table of {wildcards.kind}"
    shell:
        "python -m gpukit report table {params.kind} {params.records:q} --out {output.table:q} > {log:q} 2>&1"


rule table_artifacts:
    input:
        artifacts=ARTIFACTS,
    output:
        table=report("<results>/tables/artifacts.tsv", caption="../report/table.rst", category="Tables"),
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
        "python -m gpukit report table artifacts {input.artifacts:q} --out {output.table:q} > {log:q} 2>&1"


rule plot:
    input:
        table=lambda wildcards: f"<results>/tables/{PLOTS[wildcards.figure]}.tsv",
    output:
        figure=report("<results>/figures/{figure}.svg", caption="../report/figure.rst", category="Figures"),
    log:
        "<logs>/report/plot-{figure}.log",
    benchmark:
        "<benchmarks>/report/plot-{figure}.tsv"
    wildcard_constraints:
        figure="|".join(PLOTS),
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Figure: {wildcards.figure}"
    shell:
        "python -m gpukit report plot {wildcards.figure} {input.table:q} --out {output.figure:q} > {log:q} 2>&1"


rule plot_spread:
    input:
        table="<results>/tables/spread.tsv",
    output:
        figure=report(
            "<results>/figures/spread-{graph}-{model}.svg", caption="../report/figure.rst", category="Figures"
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


rule plot_imgpu:
    input:
        table=lambda wildcards: f"<results>/tables/{IMGPU_VIEWS[wildcards.view]}.tsv",
    output:
        figure=report("<results>/figures/imgpu-{view}-{graph}.svg", caption="../report/figure.rst", category="Figures"),
    log:
        "<logs>/report/plot-imgpu-{view}-{graph}.log",
    benchmark:
        "<benchmarks>/report/plot-imgpu-{view}-{graph}.tsv"
    wildcard_constraints:
        view="|".join(IMGPU_VIEWS),
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Figure: {wildcards.view} of IMGPU on {wildcards.graph}"
    shell:
        "python -m gpukit report plot imgpu {input.table:q} --graph {wildcards.graph:q} --view {wildcards.view}"
        " --out {output.figure:q} > {log:q} 2>&1"


rule plot_merit:
    input:
        table="<results>/tables/merit-campaigns.tsv",
    output:
        figure=report(
            "<results>/figures/merit-{view}-{graph}-{model}.svg", caption="../report/figure.rst", category="Figures"
        ),
    log:
        "<logs>/report/plot-merit-{view}-{graph}-{model}.log",
    benchmark:
        "<benchmarks>/report/plot-merit-{view}-{graph}-{model}.tsv"
    wildcard_constraints:
        view="|".join(MERIT_VIEWS),
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Figure: {wildcards.view} of campaigns on {wildcards.graph} under {wildcards.model}"
    shell:
        "python -m gpukit report plot merit {input.table:q} --graph {wildcards.graph:q} --model {wildcards.model}"
        " --view {wildcards.view} --out {output.figure:q} > {log:q} 2>&1"


rule plot_kpar:
    input:
        table=lambda wildcards: f"<results>/tables/kpar-{'queries' if wildcards.quantity == 'time' else 'quality'}.tsv",
    output:
        figure=report(
            "<results>/figures/kpar-{quantity}-{graph}.svg", caption="../report/figure.rst", category="Figures"
        ),
    log:
        "<logs>/report/plot-kpar-{quantity}-{graph}.log",
    benchmark:
        "<benchmarks>/report/plot-kpar-{quantity}-{graph}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Figure: {wildcards.quantity} of kPAR against k on {wildcards.graph}"
    shell:
        "python -m gpukit report plot kpar {input.table:q} --graph {wildcards.graph:q} --quantity {wildcards.quantity}"
        " --out {output.figure:q} > {log:q} 2>&1"


rule plot_ego:
    input:
        egos="<results>/diversity/{graph}/{circle}-ego.h5",
        answers="<results>/diversity/{graph}/{circle}.h5",
    output:
        figure=report("<results>/figures/ego-{graph}-{circle}.svg", caption="../report/figure.rst", category="Figures"),
    log:
        "<logs>/report/plot-ego-{graph}-{circle}.log",
    benchmark:
        "<benchmarks>/report/plot-ego-{graph}-{circle}.tsv"
    conda:
        CPU_ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    message:
        "Picture: the friends of the first vertex of {wildcards.graph} by {wildcards.circle}"
    shell:
        "python -m gpukit report plot ego {input.egos:q} --answers {input.answers:q} --out {output.figure:q} > {log:q} 2>&1"


KEPT = list(
    dict.fromkeys(
        [
            *ARTIFACTS,
            *ASIDE,
            *(record for records in TABLES.values() for record in records.values()),
            *(f"<results>/tables/{kind}.tsv" for kind in [*TABLES, "artifacts"]),
            *FIGURES.values(),
        ]
    )
)


rule report_page:
    input:
        tables=[f"<results>/tables/{kind}.tsv" for kind in PAGE_TABLES],
        figures=list(FIGURES.values()),
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
        tables=lambda wildcards, input: [f"--table={one}" for one in labelled(PAGE_TABLES, input.tables)],
        figures=lambda wildcards, input: [f"--figure={one}" for one in labelled(FIGURES, input.figures)],
    message:
        "The report page"
    shell:
        "python -m gpukit report page {params.tables:q} {params.figures:q} --out {output.page:q} > {log:q} 2>&1"
