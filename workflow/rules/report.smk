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


use rule table as table_artifacts with:
    input:
        records=ARTIFACTS,
    output:
        table=report("<results>/tables/artifacts.tsv", caption="../report/table.rst", category="Tables"),
    log:
        "<logs>/report/table-artifacts.log",
    benchmark:
        "<benchmarks>/report/table-artifacts.tsv"
    params:
        kind="artifacts",
        records=lambda wildcards, input: input.records,
    message:
        "Table of the artifacts and their digests"


# The figures: what is drawn, out of which files, and which part of them.
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
    params:
        words=lambda wildcards, input: [wildcards.figure, input.table],
    message:
        "Figure: {wildcards.figure}"
    shell:
        "python -m gpukit report plot {params.words:q} --out {output.figure:q} > {log:q} 2>&1"


use rule plot as plot_spread with:
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
    params:
        words=lambda wildcards, input: ["spread", input.table, "--graph", wildcards.graph, "--model", wildcards.model],
    message:
        "Figure: spread against k on {wildcards.graph} under {wildcards.model}"


use rule plot as plot_imgpu with:
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
    params:
        words=lambda wildcards, input: ["imgpu", input.table, "--graph", wildcards.graph, "--view", wildcards.view],
    message:
        "Figure: {wildcards.view} of IMGPU on {wildcards.graph}"


use rule plot as plot_merit with:
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
    params:
        words=lambda wildcards, input: ["merit", input.table]
        + ["--graph", wildcards.graph, "--model", wildcards.model, "--view", wildcards.view],
    message:
        "Figure: {wildcards.view} of campaigns on {wildcards.graph} under {wildcards.model}"


use rule plot as plot_kpar with:
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
    params:
        words=lambda wildcards, input: [
            "kpar",
            input.table,
            "--graph",
            wildcards.graph,
            "--quantity",
            wildcards.quantity,
        ],
    message:
        "Figure: {wildcards.quantity} of kPAR against k on {wildcards.graph}"


use rule plot as plot_ego with:
    input:
        egos="<results>/diversity/{graph}/{circle}-ego.h5",
        answers="<results>/diversity/{graph}/{circle}.h5",
    output:
        figure=report("<results>/figures/ego-{graph}-{circle}.svg", caption="../report/figure.rst", category="Figures"),
    log:
        "<logs>/report/plot-ego-{graph}-{circle}.log",
    benchmark:
        "<benchmarks>/report/plot-ego-{graph}-{circle}.tsv"
    params:
        words=lambda wildcards, input: ["ego", input.egos, "--answers", input.answers],
    message:
        "Picture: the friends of the first vertex of {wildcards.graph} by {wildcards.circle}"


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
