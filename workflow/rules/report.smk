# All figures except those of a paper's items, which are made with their tables.
DRAWN = {name: path for name, path in FIGURES.items() if not name.startswith(("item/", "ego/"))}
EGOS = {name.removeprefix("ego/"): path for name, path in FIGURES.items() if name.startswith("ego/")}
DRAWN_FROM = sorted(
    {
        {
            "spread": "spread",
            "runtime": "runs",
            "arrivals": "kpar-arrivals",
            "scores": "diversity-top",
            "diversity-time": "diversity-runs",
            "kpar-time": "kpar-queries",
            **{f"imgpu-{view}": table for view, table in IMGPU_VIEWS.items()},
            **{f"merit-{view}": "merit-campaigns" for view in MERIT_VIEWS},
        }[name.partition("/")[0]]
        for name in DRAWN
    }
)


# Cells and measures are the inputs of a paper's items; the page shows the items.
PAGE_TABLES = [
    *(kind for kind in TABLES if not kind.startswith(("cells-", "measures-", "one-thread-", "reached"))),
    *["claims"] * bool(PAPER),
    "artifacts",
]


rule table:
    input:
        records=lambda wildcards: list(TABLES[wildcards.kind].values()),
        graphs=lambda wildcards: [f"<results>/graphs/{name}.h5" for name in on("gim") if wildcards.kind == "seeds"],
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
        graphs=lambda wildcards, input: (
            [f"--graph={one}" for one in labelled(on("gim"), input.graphs)] if input.graphs else []
        ),
    message:
        "Table of {wildcards.kind}"
    shell:
        f"python -m gpukit {REPORT} table"
        " {params.kind} {params.records:q} {params.graphs:q} --out {output.table:q} > {log:q} 2>&1"


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
        graphs=[],
    message:
        "Table of the artifacts and their digests"


if DRAWN:

    # One process draws the figures of all tables: starting a process takes longer than drawing a figure.
    rule figures:
        input:
            tables=[f"<results>/tables/{kind}.tsv" for kind in DRAWN_FROM],
        output:
            figures=[
                report(path, caption="../report/figure.rst", category="Figures", labels={"figure": name})
                for name, path in DRAWN.items()
            ],
        log:
            "<logs>/report/figures.log",
        benchmark:
            "<benchmarks>/report/figures.tsv"
        conda:
            CPU_ENV
        threads: 1
        resources:
            mem_mb=2000,
            runtime="10m",
        params:
            made_of=lambda wildcards, input: [f"--table={one}" for one in labelled(DRAWN_FROM, input.tables)],
            figures=lambda wildcards, output: [f"--figure={one}" for one in labelled(DRAWN, output.figures)],
        message:
            "The figures"
        shell:
            "python -m gpukit report figures {params.made_of:q} {params.figures:q} > {log:q} 2>&1"

    if EGOS:

        # This is half of the work, and need not wait for the last table.
        use rule figures as figures_egos with:
            input:
                egos=[f"<results>/diversity/{place.rpartition('/')[0]}/egos.h5" for place in EGOS],
                answers=[f"<results>/diversity/{place}.h5" for place in EGOS],
            output:
                figures=[
                    report(path, caption="../report/figure.rst", category="Figures", labels={"figure": f"ego/{place}"})
                    for place, path in EGOS.items()
                ],
            log:
                "<logs>/report/figures-egos.log",
            benchmark:
                "<benchmarks>/report/figures-egos.tsv"
            params:
                made_of=lambda wildcards, input: [
                    *(f"--egos={one}" for one in labelled(EGOS, input.egos)),
                    *(f"--answers={one}" for one in labelled(EGOS, input.answers)),
                ],
                figures=lambda wildcards, output: [f"--figure=ego/{one}" for one in labelled(EGOS, output.figures)],
            message:
                "The figures of ego-networks"


KEPT = list(
    dict.fromkeys(
        [
            *ARTIFACTS,
            *ASIDE,
            *(record for records in TABLES.values() for record in records.values()),
            *(f"<results>/tables/{kind}.tsv" for kind in dict.fromkeys([*TABLES, *PAGE_TABLES])),
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
        # A function of the input does not make the page again, for example if only the device changed.
        asked=lambda wildcards, input: json.dumps(config),
        lacking=[f"--lacking={name}={reason}" for name, reason in LACKING.items()],
    message:
        "The report page"
    shell:
        f"python -m gpukit {REPORT} page"
        " {params.tables:q} {params.figures:q} --configuration {params.asked:q}"
        " {params.lacking:q} --out {output.page:q} > {log:q} 2>&1"
