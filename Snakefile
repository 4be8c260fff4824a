# The gpukit workflow: `snakemake --cores all` makes results/report.html; README.md and docs/workflow.md say more.
include: "workflow/Snakefile"


# A file that is included has no say in what is made by default.
workflow.default_target = "all"
