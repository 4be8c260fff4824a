# The gpukit workflow: `snakemake --cores all` makes results/report.html; README.md and docs/workflow.md say more.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

sys.path.insert(0, str(workflow.basedir))

from gpukit.cli.configuration import check_configuration
from gpukit.errors import GpukitError

min_version("9.20")
CHECKOUT = Path(workflow.basedir)


configfile: f"{workflow.basedir}/config/config.yaml"


try:
    # A job of another machine has neither those files nor the edge lists, and starts where they were looked at.
    files, places = (workflow.configfiles, [Path(), CHECKOUT]) if workflow.is_main_process else ([], [])
    check_configuration(config, CHECKOUT / "workflow/schemas/config.schema.json", files, places)
except GpukitError as error:
    sys.exit(f"config: {error}")  # one line; a WorkflowError would have three


pathvars:
    results=config["results"],
    logs=f"{config['results']}/logs",
    benchmarks=f"{config['results']}/benchmarks",


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/gim.smk"
include: "workflow/rules/imgpu.smk"
include: "workflow/rules/kpar.smk"
include: "workflow/rules/merit.smk"
include: "workflow/rules/diversity.smk"
include: "workflow/rules/evaluate.smk"


if PAPER:

    include: "workflow/rules/paper_common.smk"
    include: "workflow/rules/paper.smk"


include: "workflow/rules/report.smk"


report: "workflow/report/workflow.rst"


# Snakemake is content when the jobs that it planned are done; whether all is made that was asked for, this looks at.
onsuccess:
    if left := unmade(workflow):
        raise WorkflowError(f"{left}, though all planned jobs are done; run snakemake again")


rule all:
    default_target: True
    input:
        page="<results>/report.html",
        # What it was made of is asked for, too: a file that somebody deleted is made again.
        kept=KEPT,


rule sharded:
    input:
        seeds=[f"<results>/seeds/{graph}/sharded-{model}.h5" for graph, model in INSTANCES],
        rankings=[f"<results>/kpar/{graph}/gathered-{k}.h5" for graph in RANKED for k in config["kpar"]["k"]],
        circles=[f"<results>/diversity/{graph}/{model}-gathered.h5" for graph, model in CIRCLES],
