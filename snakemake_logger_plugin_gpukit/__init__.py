"""What a terminal shows of a run of the workflow: a line for each finished step, a bar, what failed, and the report.

Of a dry run it shows a line for each step that would run, and why; with ``-p`` all that Snakemake says of each job.
Snakemake finds this package by its name, and takes it where ``--logger gpukit`` is said, as the default profile does.
The whole log stays in the file under ``.snakemake/log`` that the last line names.
"""

import logging
import re
import shlex
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

PATIENCE_S = 30
"""Seconds without a finished step after which a line says how far the run is."""
BAR = 24

_NOISE = re.compile(
    r"Using workflow specific profile|Config file .* is extended|Building DAG|Assuming unrestricted shared|host: |"
    r"Using shell|Provided (cores|resources)|Rules claiming more|Conda environments: |Singularity containers: |"
    r"Select jobs|Updating job|Storing output|Shutting down|Exiting because|Elapsed time|Shell command|"
    r"WorkflowError:\s+At least one job|RuleException:\s+CalledProcessError|Reasons:|This was a dry-run|"
    r"Some jobs were triggered by provenance|Rules with provenance|\d+ jobs have (missing|outdated) provenance"
)

_REASONS = {
    "Forced execution": "it is asked for",
    "Missing output files: ": "{} is missing",
    "Incomplete output files: ": "{} is not finished",
    "Updated input files: ": "{} is newer",
    "Params have changed": "its parameters changed",
    "Set of input files has changed": "its inputs changed",
    "Code has changed": "its command changed",
    "Software environment definition has changed": "its environment changed",
    "Input files updated by another job: ": "what it is made of is made again",
}
"""Why Snakemake runs a job, the first that holds; braces stand for the first file that it names."""


class LogHandler(LogHandlerBase):
    """The handler."""

    has_filter = False
    has_formatter = False
    writes_to_stream = True
    writes_to_file = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Begin without a job."""
        self._stream = sys.stdout if self.common_settings.dryrun else sys.stderr
        self._live = self._stream.isatty()
        self._as_it_is = self.common_settings.dryrun and not {"-p", "--printshellcmds", "--verbose"}.isdisjoint(
            sys.argv
        )
        self._jobs: dict[int, Any] = {}
        self._begun: dict[int, float] = {}
        self._wanted: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._spent: dict[str, float] = defaultdict(float)
        self._start = self._said = time.monotonic()
        self._bar = self._page = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Say what people need of a record."""
        try:
            if self._as_it_is:
                self._write(self.format(record))
            else:
                for line in self._lines(getattr(record, "event", None), record):
                    self._write(line)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Take the bar away; say what a dry run found."""
        self._draw("")
        if self.common_settings.dryrun and not self._as_it_is:
            for line in self._planned():
                self._write(line)
        super().close()

    def _lines(self, event: Any, record: Any) -> Iterator[str]:
        if event == LogEvent.RUN_INFO:
            yield from self._plan(record.stats)
        elif event == LogEvent.JOB_INFO:
            self._jobs[record.jobid] = record
            self._begun[record.jobid] = time.monotonic()
            self._page = next((path for path in record.output if Path(path).name == "report.html"), self._page)
        elif event == LogEvent.JOB_FINISHED:
            yield from self._finished(record.job_id)
        elif event == LogEvent.PROGRESS:
            yield from self._progress(record.done, record.total)
        elif event == LogEvent.JOB_ERROR and self._begun.pop(record.jobid, None):  # 9.20 says each failure twice
            yield from self._failed(record)
        elif event in (None, LogEvent.ERROR):
            text = str(record.getMessage()).strip()
            if text.startswith("Complete log(s): "):
                text = f"The log: {text.removeprefix('Complete log(s): ')}"
            if "Directory cannot be locked" in text:
                text = _unlock(sys.argv[1:])
            if text and not _NOISE.match(text):
                yield text

    def _plan(self, stats: dict[str, int]) -> Iterator[str]:
        """Say how much there is to do; Snakemake does so again at the end of some runs."""
        if not self._wanted:
            self._wanted.update({rule: count for rule, count in stats.items() if rule != "total"})
            yield f"{sum(self._wanted.values())} jobs in {len(self._wanted)} steps"

    def _planned(self) -> Iterator[str]:
        """Say which steps would run, in the order in which Snakemake planned their first jobs, and why."""
        reasons: dict[str, list[str]] = defaultdict(list)
        jobs, self._jobs = self._jobs, {}  # Snakemake closes a handler twice
        for job in jobs.values():
            if job.shellcmd:
                reasons[job.rule_name].append(_why(str(job.reason)))
        for rule, every in reasons.items():
            first = list(dict.fromkeys(every))
            kinds = {one.rpartition(" ")[2]: one for one in reversed(first)}  # one file stands for all of its kind
            shown = "; ".join(one for one in first if one in kinds.values())
            yield f"{rule.replace('_', ' ')}: {f'{len(every)} jobs' if len(every) > 1 else '1 job'}, since {shown}"
        if reasons:
            yield "Nothing was run: -n only plans. With -p it says every job and its command"

    def _finished(self, number: int) -> Iterator[str]:
        """Count a job; a step is finished when all jobs of its rule are."""
        rule = self._jobs[number].rule_name
        self._done[rule] += 1
        self._spent[rule] += time.monotonic() - self._begun[number]
        if self._done[rule] == self._wanted[rule] and self._jobs[number].shellcmd:
            count, total = self._done[rule], sum(self._wanted.values())
            jobs = f"{count} jobs" if count > 1 else "1 job"
            done = f"{sum(self._done.values()):>{len(str(total))}} of {total}"
            yield f"{done}  {rule.replace('_', ' ')}: {jobs}, {self._spent[rule]:.1f} s"

    def _progress(self, done: int, total: int) -> Iterator[str]:
        """Move the bar, or say in a line how far it is where nothing else was said for a while."""
        spent = time.monotonic() - self._start
        if done == total:
            self._draw("")
            yield f"Done: {done} jobs in {spent:.0f} s" + (f". The report: {self._page}" if self._page else "")
        elif self._live:
            full = BAR * done // total
            self._draw(f"[{'#' * full}{'.' * (BAR - full)}] {done} of {total}, {spent:.0f} s")
        elif time.monotonic() - self._said > PATIENCE_S:
            yield f"{done} of {total} jobs after {spent:.0f} s"

    def _failed(self, record: Any) -> Iterator[str]:
        """Say which job failed, with the line of its log that says why, and where the rest is."""
        job = self._jobs.get(record.jobid)
        yield f"Failed: {(job and job.rule_msg) or record.rule_name}"
        logs = [Path(path.partition(" (")[0]) for path in record.log]
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in logs if path.is_file()]
        lines = [line for text in texts for line in text.splitlines() if line.strip()]
        if lines:
            yield next((line for line in lines if line.startswith("gpukit: error: ")), lines[-1])[:2000]
        elif record.rule_msg:
            yield str(record.rule_msg)[:2000]
        if logs:
            yield f"Its log: {', '.join(map(str, logs))}"

    def _write(self, line: str) -> None:
        """Write lines above the bar."""
        bar = self._bar
        self._draw("")
        if line:
            self._stream.write(f"{line}\n")
            self._said = time.monotonic()
        self._draw(bar)
        self._stream.flush()

    def _draw(self, bar: str) -> None:
        """Put a bar in place of the one that is there."""
        if self._live and bar != self._bar:
            self._stream.write(f"\r{bar}\x1b[K")
            self._stream.flush()
        self._bar = bar


def _unlock(words: list[str]) -> str:
    """Return what to do in a folder that another run has locked: the command has this one's configuration files."""
    from gpukit.cli.workflow.config_file import named_files

    files = [str(path) for path in named_files(words)]
    command = shlex.join(["snakemake", "--unlock", *(["--configfile", *files] if files else [])])
    return f"Another run works in this folder, or was killed there. Wait for it; or, if it was killed: {command}"


def _why(reason: str) -> str:
    """Return in some words why Snakemake runs a job."""
    for text, short in _REASONS.items():
        if text in reason:
            return short.format(min(reason.partition(text)[2].partition("; ")[0].split(", ")))
    return reason[:200]
