"""Grammar of the command that makes contracts of other files; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

KINDS = ("compose", "dvc", "skypilot", "slurm", "wfcommons")

IMPORT: Command = (
    "import",
    "Make a contract of a workflow, a pipeline, job scripts or a compose file.",
    (
        "Nothing is run. What the file says and a contract cannot is listed on standard error and in "
        "comments at the top of the contract, each thing with its place and the reason; so is what was "
        "assumed where the file says nothing.",
        "slurm takes several FILES: job scripts, and the script that submits them with sbatch; scripts that "
        "it names are read as well where they lie beside it. dvc reads the parameter files beside dvc.yaml.",
    ),
    (
        ("KIND", "one", KINDS, "What the files are."),
        ("FILES", "some", (), "File to import, or - for standard input."),
    ),
    (JSON, LANG, OUTPUT),
    (
        ("dsec import dvc dvc.yaml -o dsandbox.yaml", "Make a contract of a pipeline of DVC."),
        (
            "dsec import slurm submit.sh -o dsandbox.yaml",
            "Make one of the jobs that a script submits, with their dependencies.",
        ),
        ("dsec import wfcommons run.json | dsec lint -", "See what lint says of a recorded workflow."),
    ),
    (
        (0, "imported, with or without things that could not be mapped"),
        USAGE,
        (3, "a file could not be read or written, or is not of the kind"),
    ),
)
