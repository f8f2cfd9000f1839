"""`dsec init`: a commented starter contract that lints clean and runs as it is."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from errno import EDQUOT, ENOSPC

from dsec.errors import FileProblem
from dsec.wholefile import remedy
from dsec_cli.cells import wrap
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit, to_file
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell

FILE = "dsandbox.yaml"
SCHEMA = os.path.join(".dsec", "dsandbox.schema.json")
_FIRST = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

TEMPLATE = """\
# yaml-language-server: $schema={schema}
# What this training job needs, what it may grow to, and the Steps it is made of.
#   dsec lint      check this file          dsec dag   show the Step graph
#   dsec plan      compile it to a plan     dsec run   run it here
version: "1.0.0"
name: {name}

# The standing resources: what the job needs at all times; a plan warns where the machine has less.
baseline:
  # gpu:               # for work on GPUs; the type is never guessed
  #   count: 1
  #   memory: 24GB-class
  #   type: rtx-4090
  cpu: 1
  memory: 512MiB

# How far the job may grow. Minimum counts are at least the baseline's.
elasticity:
  gpu: {{min_count: 0, max_count: 0}}

# How the job takes an interruption: critical, pauseable, elastic or discardable.
fault_tolerance:
  level: pauseable
  checkpoint_grace_period: 30s
  resume_strategy: step_resume

# Models, data sets and packages that are loaded, with exact versions:
#   - {{name: policy, version: "1.3.0", type: model, source: "ds://models/policy"}}
dependencies: []

# A Step waits for the Steps in `needs`, and for those that write its inputs. {{run}} is the
# folder of one run. A plain `run:` is one program; `run: |` is a shell script.
steps:
  - id: prepare
    run: |
      seq 1 100 > "$DSEC_RUN_DIR/numbers"
    outputs: ["{{run}}/numbers"]
    timeout: 1m

  - id: train
    run: |
      awk '{{ sum += $1 }} END {{ print "mean", sum / NR }}' "$DSEC_RUN_DIR/numbers"
    inputs: ["{{run}}/numbers"]
    timeout: 10m
"""


def template(tell: Tell) -> str:
    """The starter contract, its comments said by `tell`."""
    text = TEMPLATE
    for lines in comments():
        english = " ".join(lines)
        told = tell(english)
        if told != english:
            old, new = ("".join(f"# {line}\n" for line in some) for some in (lines, wrap(told, 90)))
            text = text.replace(old, new)
    return text


def comments() -> list[list[str]]:
    """The comments of the template, each with its lines; several lines are one text."""
    found: list[list[str]] = [[]]
    for line in TEMPLATE.split("\n"):
        if line.startswith("# ") and not line.startswith(("# yaml-language-server", "#   ")):
            found[-1].append(line[2:])
        elif found[-1]:
            found.append([])
    return [lines for lines in found if lines]


def main(args: Args) -> int:
    """Write the contract and the schema that editors complete it from."""
    folder = args.dir
    name = _checked(args.name) if args.name is not None else _name_of(folder)
    path = os.path.normpath(os.path.join(folder, FILE))
    if os.path.lexists(path):
        raise FileProblem(
            say("{path} exists already", path=path), hint="name another folder with --dir, or edit the file"
        )
    text = template(listener(args.lang, "yaml")).format(name=name, schema=SCHEMA)
    _write(folder, path, text)
    tell = listener(args.lang)
    where = "" if folder == "." else f" {shlex.quote(path)}"
    next_ = say("next: {lint}, then {run}", lint=f"dsec lint{where}", run=f"dsec run{where}")
    emit(f"{tell(say('wrote {path}', path=path))}\n{tell(next_)}\n")
    return YES


def _write(folder: str, path: str, text: str) -> None:
    """Write the schema and the contract; where that fails, nothing new is left."""
    schema = os.path.join(folder, SCHEMA)
    fresh = _absent(os.path.dirname(schema))
    known = os.path.lexists(schema)
    try:
        _make(folder)
        to_file(schema, _schema().encode())
        to_file(path, text.encode())
    except FileProblem:
        with suppress(OSError):
            if not known:
                os.unlink(schema)
        with suppress(OSError):
            for one in fresh:
                os.rmdir(one)
        raise


def _make(folder: str) -> None:
    try:
        os.makedirs(os.path.join(folder, os.path.dirname(SCHEMA)), mode=0o700, exist_ok=True)
    except OSError as problem:
        raise FileProblem(
            say("{folder} could not be made: {why}", folder=folder, why=system(problem)),
            hint=remedy(problem) if problem.errno in (ENOSPC, EDQUOT) else "check the name",
        ) from problem


def _absent(folder: str) -> list[str]:
    """The folder and those above it that are not there, the deepest first."""
    found = []
    while folder and not os.path.lexists(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _checked(name: str) -> str:
    if not name or name[0] not in _FIRST or name != _legal(name):
        raise UsageError(
            say("{name!r} is no name of a job", name=name),
            hint=say("a folder is named so: dsec init --dir {folder}", folder=shlex.quote(name))
            if name in (".", "..") or os.sep in name
            else say("letters, digits, '_', '.' and '-', beginning with a letter or digit"),
        )
    return name


def _legal(name: str) -> str:
    return "".join(ch if ch in _FIRST or ch in "_.-" else "-" for ch in name)[:64]


def _name_of(folder: str) -> str:
    """A job name from the folder's own name."""
    found = _legal(os.path.basename(os.path.abspath(folder))).lstrip("_.-")
    return found or "job"


def _schema() -> str:
    from dsec_cli.contract.generate_schema import render

    return next(text for path, text in render().items() if os.path.basename(path) == os.path.basename(SCHEMA))
