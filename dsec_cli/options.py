"""Every command's grammar as plain tuples: read by the fast parser, by Typer's pages and by the docs.

One block per command in one of the `options_*` modules, in alphabetical order; a new command is one
block there, one line in `COMMANDS` and one file in `commands/`. Nothing but these tables is imported,
so a lint starts in milliseconds.

    argument: (name, arity, choices, help)
        arity: "one", "maybe" (0 or 1), "some" (1 or more), "many" (0 or more)
    option:   (name, short, kind, metavar, choices, default, help)
        kind: "flag" (False/True), "value" (text), "int", "multi" (repeatable, a tuple of texts)
    command:  (name, summary, description, arguments, options, examples, exits)
        description: paragraphs; examples: (command line, what it does); exits: (code, meaning)

A parsed command line reaches `commands/<name>.main` as `Args`: option `--stdin-name` is
`args.stdin_name`, argument `PATHS` is `args.paths`. A name may have two words: `snapshot create` is
`commands/snapshot_create.py`, and its first word may be in `GROUPS`.
"""

from __future__ import annotations

from dsec_cli.options_args import Args as Args
from dsec_cli.options_args import attribute as attribute
from dsec_cli.options_args import defaults as defaults
from dsec_cli.options_code import CODE
from dsec_cli.options_contract import CONFIG, DAG, EXPLAIN, INIT, INVENTORY_PAGE, PLAN, VERSION
from dsec_cli.options_daemon import DAEMON
from dsec_cli.options_doctor import DOCTOR
from dsec_cli.options_editor import LSP
from dsec_cli.options_form import FMT, SCHEMA
from dsec_cli.options_import import IMPORT
from dsec_cli.options_knowledge import KNOWLEDGE
from dsec_cli.options_lint import LINT, RULES
from dsec_cli.options_netcheck import NETCHECK
from dsec_cli.options_package import PACKAGE_COMMANDS
from dsec_cli.options_packages import PACKAGES
from dsec_cli.options_plugin import PLUGINS
from dsec_cli.options_run import CANCEL, HASH, LOGS, REPORT, RESUME, RUN, STATUS
from dsec_cli.options_simgpu import SIM_GPU
from dsec_cli.options_simulate import SIMULATE
from dsec_cli.options_snapshot import CODE_BUNDLE, SANDBOX_RUN, SNAPSHOTS
from dsec_cli.options_top import TOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

COMMANDS: tuple[Command, ...] = (
    CANCEL,
    CODE,
    CODE_BUNDLE,
    CONFIG,
    DAEMON,
    DAG,
    DOCTOR,
    EXPLAIN,
    FMT,
    HASH,
    IMPORT,
    INIT,
    INVENTORY_PAGE,
    KNOWLEDGE,
    LINT,
    LOGS,
    LSP,
    *NETCHECK,
    PACKAGES,
    PLAN,
    *PLUGINS,
    REPORT,
    RESUME,
    RULES,
    RUN,
    SANDBOX_RUN,
    SCHEMA,
    SIM_GPU,
    SIMULATE,
    *sorted((*PACKAGE_COMMANDS, *SNAPSHOTS), key=lambda row: row[0]),
    STATUS,
    TOP,
    VERSION,
)

# program -> (the one command it is, or "" for a program with commands; the commands it has)
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "dsec": ("", tuple(command[0] for command in COMMANDS)),
    "ds-contract-lint": ("lint", ()),
    "ds-dag-analyze": ("dag", ()),
    "ds-plugin-scan": ("plugin scan", ()),
    "ds-netcheck": ("", tuple(command[0] for command in NETCHECK)),
    "dsctl": ("", ("config", "version")),
}


GROUPS: dict[str, str] = {
    "netcheck": "Measure the network between hosts as a plan uses it.",
    "plugin": "Look at plugins: what they can do, who made them.",
    "sandbox": "Run a snapshot again.",
    "snapshot": "Take, compare, verify and run again the state of a job.",
}
"""First words that commands of two words share (`snapshot create`, `snapshot list`), and what about."""


def command(name: str) -> Command | None:
    """The grammar of the command `name`."""
    for row in COMMANDS:
        if row[0] == name:
            return row
    return None
