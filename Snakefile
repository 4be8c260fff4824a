# The gpukit workflow: `snakemake --cores all` makes results/report.html; README.md and docs/workflow.md say more.
include: "workflow/Snakefile"


# An included file cannot set the default target.
workflow.default_target = "all"
