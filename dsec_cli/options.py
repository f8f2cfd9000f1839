"""Every command's grammar as plain tuples: read by the fast parser, by Typer's pages and by the docs.

One block per command, in alphabetical order; a new command is one block here, one line in
`COMMANDS` and one file in `commands/`. Nothing is imported, so a lint starts in milliseconds.

    argument: (name, arity, choices, help)
        arity: "one", "maybe" (0 or 1), "some" (1 or more), "many" (0 or more)
    option:   (name, short, kind, metavar, choices, default, help)
        kind: "flag" (False/True), "value" (text), "int", "multi" (repeatable, a tuple of texts)
    command:  (name, summary, description, arguments, options, examples, exits)
        description: paragraphs; examples: (command line, what it does); exits: (code, meaning)

A parsed command line reaches `commands/<name>.main` as `Args`: option `--stdin-name` is
`args.stdin_name`, argument `PATHS` is `args.paths`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Argument: TypeAlias = tuple[str, str, tuple[str, ...], str]
    Option: TypeAlias = tuple[str, str, str, str, tuple[str, ...], "str | int | None", str]
    Command: TypeAlias = tuple[
        str,
        str,
        tuple[str, ...],
        tuple[Argument, ...],
        tuple[Option, ...],
        tuple[tuple[str, str], ...],
        tuple[tuple[int, str], ...],
    ]

USAGE = (2, "the command line is wrong")
UNKNOWN = (3, "could not find out: a file or a device could not be read")

COLOR: Option = (
    "color",
    "",
    "value",
    "WHEN",
    ("auto", "always", "never"),
    "auto",
    "Colour the text; auto: on a terminal, unless NO_COLOR is set. FORCE_COLOR forces it.",
)
JSON: Option = ("json", "", "flag", "", (), None, "Print one JSON document instead of text.")
OUTPUT: Option = (
    "output",
    "o",
    "value",
    "FILE",
    (),
    None,
    "Write to FILE (whole or not at all) instead of standard output.",
)
INVENTORY: Option = (
    "inventory",
    "",
    "value",
    "FILE",
    (),
    None,
    "Take the machines described in FILE (YAML, JSON, nvidia-smi output) or by builtin:NAME, not this one.",
)

JOB: Argument = ("JOB", "maybe", (), "Job id, or a run's folder; default: the latest run of the nearest .dsec upwards.")
NO_RUN = (3, "there is no such run, or its journal cannot be read")

CANCEL: Command = (
    "cancel",
    "End a run that is going on.",
    (
        "Asks the run's executor to end its Steps (TERM, each Step's grace period, KILL) and waits until nothing "
        "is left. The executor is known by pid, start time and boot, so no other process is ever signalled.",
    ),
    (JOB,),
    (),
    (("dsec cancel nightly-7", "End the run nightly-7; dsec resume would continue it."),),
    ((0, "ended"), (1, "it was not running"), USAGE, NO_RUN),
)

CONFIG: Command = (
    "config",
    "Read and change the user settings.",
    (
        "Settings live in ~/.ds/config.yaml. A change replaces the file as a "
        "whole or not at all, and leaves its comments and the other settings as they are.",
        "DSec has no telemetry: nothing is ever sent. The setting is false, and true is refused.",
    ),
    (
        ("ACTION", "one", ("get", "list", "set", "unset"), "What to do."),
        ("KEY", "maybe", (), "Name of the setting."),
        ("VALUE", "maybe", (), "New value (set)."),
    ),
    (),
    (
        ("dsctl config set telemetry false", "Say that nothing may be sent (the default)."),
        ("dsctl config get color", "Print one setting."),
        ("dsctl config list", "Print every setting, where its value comes from and what it means."),
    ),
    ((0, "done"), USAGE, (3, "the settings file could not be read or written")),
)

DAG: Command = (
    "dag",
    "Draw the Step graph of a contract, and say what it means in time.",
    (
        "Shows levels, needs, tolerance, critical path, slack, a lower bound and idle GPU time. Edges come "
        "from needs, from files that one Step writes and another reads, and from communication. Steps in a "
        "ds_config.yaml beside the contract count as its own.",
        "A cyclic graph is drawn as well; every cycle is told on standard error, with the line of each edge "
        "and the cheapest place to break it.",
        "--job-id lays the states and durations of a run over the graph; FILE is then found through the run.",
        "dsec dag and ds-dag-analyze are one program.",
    ),
    (("FILE", "maybe", (), "Contract; default: the one in this folder."),),
    (
        ("job-id", "", "value", "JOB", (), None, "Show what this run (finished or not) did with each Step."),
        (
            "out",
            "o",
            "value",
            "FILE",
            (),
            None,
            "Write to FILE (whole or not at all) instead of standard output.",
        ),
        (
            "output",
            "",
            "value",
            "VIEW",
            ("dot", "json", "mermaid", "text"),
            "text",
            "How the graph is drawn.",
        ),
    ),
    (
        ("ds-dag-analyze dsandbox.yaml", "Read the graph in the terminal."),
        ("ds-dag-analyze dsandbox.yaml --output dot | dot -Tpng -o dag.png", "Make a picture of it."),
        ("ds-dag-analyze --job-id abc123 --output dot | dot -Tpng -o dag.png", "Make a picture of a run."),
    ),
    (
        (0, "drawn"),
        (1, "the graph has cycles, or a break_cycle that breaks nothing (it is drawn all the same)"),
        USAGE,
        UNKNOWN,
    ),
)

EXPLAIN: Command = (
    "explain",
    "Explain a lint rule: why it exists, a bad and a good example.",
    ("Everything is read from the installed rules, so it works offline. Without CODE all rules are listed.",),
    (("CODE", "maybe", (), "Code (DS106) or name (bad-quantity) of a rule."),),
    (),
    (
        ("dsec explain DS106", "Print the page of one rule."),
        ("dsec explain", "List every rule with its severity and summary."),
    ),
    ((0, "printed"), (2, "there is no such rule")),
)

INIT: Command = (
    "init",
    "Write a commented starter contract.",
    (
        "Writes dsandbox.yaml into the folder: a two-Step job that lints clean and runs as it is (dsec run). "
        "An existing file is never overwritten.",
    ),
    (("NAME", "maybe", (), "Name of the job; default: the folder's name."),),
    (("dir", "", "value", "DIR", (), ".", "Folder to write into; it is created when missing."),),
    (
        ("dsec init grpo-warmup", "Write dsandbox.yaml for the job grpo-warmup here."),
        ("dsec init --dir jobs/eval", "Write jobs/eval/dsandbox.yaml."),
    ),
    ((0, "written"), USAGE, (3, "the file exists already or could not be written")),
)

INVENTORY_PAGE: Command = (
    "inventory",
    "Show processors, memory and GPUs of this machine, or of a described one.",
    (
        "What was not available is said with its reason and remedy; a reading that could not be had is "
        "unknown, never 0. GPUs that CUDA_VISIBLE_DEVICES hides do not belong to the inventory.",
        "With --inventory the machines of a file are shown: YAML, JSON, the output of dsec inventory --json, "
        "saved output of nvidia-smi -q -x or of nvidia-smi -L and topo -m; or builtin:NAME.",
    ),
    (),
    (INVENTORY, JSON, OUTPUT),
    (
        ("dsec inventory", "Show this machine."),
        ("dsec inventory --json -o box.json", "Save it, to plan for it elsewhere with --inventory box.json."),
        ("dsec inventory --inventory builtin:8xa100-sxm-80gb", "Show a machine that DSec brings along."),
    ),
    ((0, "shown, with or without GPUs"), USAGE, UNKNOWN),
)

LINT: Command = (
    "lint",
    "Check contracts and say what is wrong, where, why and what to write instead.",
    (
        "PATHS are files, folders (searched for dsandbox.yaml, agent-train-sandbox.yaml, ds_config.yaml and "
        "plugin.yaml, not deeper) or - for standard input; without PATHS this folder is searched.",
        "A line is excused by a comment that names the code and says why, on the line or on the line above: "
        "# dsec: ignore[DS203] the pool is ours alone.",
        "dsec lint and ds-contract-lint are one program.",
    ),
    (("PATHS", "many", (), "Files, folders or - for standard input."),),
    (
        COLOR,
        ("exit-zero", "", "flag", "", (), None, "Exit 0 although there are findings (2, 3 and 70 stay)."),
        (
            "format",
            "f",
            "value",
            "FORMAT",
            ("json", "sarif", "text"),
            "text",
            "How the findings are written.",
        ),
        (
            "ignore",
            "",
            "multi",
            "CODES",
            (),
            None,
            "Leave out these codes or prefixes (DS3), comma separated.",
        ),
        INVENTORY,
        OUTPUT,
        ("quiet", "q", "flag", "", (), None, "One line per finding, and no summary."),
        ("select", "", "multi", "CODES", (), None, "Only these codes or prefixes (DS5), comma separated."),
        ("stdin-name", "", "value", "NAME", (), "<stdin>", "What to call standard input in the output."),
    ),
    (
        ("ds-contract-lint", "Check the contracts of this folder."),
        (
            "ds-contract-lint jobs/*.yaml --format sarif -o lint.sarif",
            "Write one SARIF file for code scanning.",
        ),
        (
            "ds-contract-lint --inventory pool.yaml dsandbox.yaml",
            "Also check that the listed devices suffice.",
        ),
        ("git show :dsandbox.yaml | ds-contract-lint - --stdin-name dsandbox.yaml", "Check what is staged."),
        ("dsec explain DS106", "Read why a rule exists."),
    ),
    (
        (0, "nothing found, or only remarks (info)"),
        (1, "errors or warnings found"),
        USAGE,
        (3, "a file could not be read, or nothing to check was found"),
    ),
)

LOGS: Command = (
    "logs",
    "Print what the Steps of a run wrote.",
    ("Each attempt has a log of its own; calls of a resident worker share the worker's, and their part of it is shown.",),
    (JOB, ("STEP", "maybe", (), "Only this Step.")),
    (
        ("follow", "f", "flag", "", (), None, "Go on printing until the run ends."),
        ("iteration", "", "int", "N", (), None, "Only this iteration, from 0."),
    ),
    (
        ("dsec logs nightly-7 S5 --iteration 3", "What Step S5 printed in iteration 3, all attempts."),
        ("dsec logs nightly-7 -f", "Follow a run."),
    ),
    ((0, "printed"), (2, "the run has no such Step"), (3, "there is no such run, or the Step has not started")),
)

REPORT: Command = (
    "report",
    "Say what a run came to.",
    (
        "Built from the run's plan and journal: per Step the counts, times, CPU, memory, retries and failures; idle "
        "share, critical path planned and actual, GPU time, results. A run that has ended also gets report.json and "
        "report.md in its folder.",
    ),
    (JOB,),
    (JSON,),
    (("dsec report", "Report on the latest run."), ("dsec report nightly-7 --json", "The same as data.")),
    ((0, "printed"), USAGE, NO_RUN),
)

RESUME: Command = (
    "resume",
    "Go on with a run that was interrupted, killed or failed.",
    (
        "Ends what the earlier executor left behind, then does what is not done: a Step whose success is in the "
        "journal and whose outputs exist is not run again. Failed Steps get their retries anew.",
    ),
    (JOB,),
    (
        INVENTORY,
        ("json", "", "flag", "", (), None, "Print every event as one line of JSON, and nothing else."),
        ("keep-going", "k", "flag", "", (), None, "After a failure go on with the Steps that do not depend on it."),
        ("quiet", "q", "flag", "", (), None, "Print only how the run ended."),
    ),
    (("dsec resume", "Go on with the latest run."), ("dsec resume nightly-7", "Go on with the run nightly-7.")),
    (
        (0, "every Step succeeded"),
        (1, "a Step failed"),
        USAGE,
        (3, "there is no such run, another process carries it out, or it could not go on"),
        (130, "interrupted (Ctrl-C)"),
        (143, "terminated (TERM, or dsec cancel)"),
    ),
)

RUN: Command = (
    "run",
    "Carry out a contract or a plan on this machine.",
    (
        "FILE is a contract (compiled first, as dsec plan does) or a plan.json; without it the contract of this "
        "folder is taken. Every transition is journalled in .dsec/runs/JOB before it is acted on, so a run that "
        "was killed at any moment goes on with dsec resume JOB.",
        "Ctrl-C ends the Steps with TERM and, after each Step's grace period, KILL; a second Ctrl-C shortens the "
        "grace to a second, a third ends everything at once. No process of the run is left over, also when dsec "
        "itself is killed.",
    ),
    (("FILE", "maybe", (), "Contract or plan.json; default: the contract of this folder."),),
    (
        INVENTORY,
        (
            "job-id",
            "",
            "value",
            "ID",
            (),
            None,
            "Name of the run; default: <name>-<UTC time>-<4 hex digits>.",
        ),
        ("json", "", "flag", "", (), None, "Print every event as one line of JSON, and nothing else."),
        (
            "keep-going",
            "k",
            "flag",
            "",
            (),
            None,
            "After a failure go on with the Steps that do not depend on it.",
        ),
        ("quiet", "q", "flag", "", (), None, "Print only how the run ended."),
    ),
    (
        ("dsec run", "Run the contract of this folder."),
        ("dsec run plan.json --job-id nightly-7", "Run a stored plan under a name of one's own."),
        ("dsec run --json | jq -c 'select(.event == \"exit\")'", "Follow the ends of the Steps in a script."),
    ),
    (
        (0, "every Step succeeded (discardable ones may have been dropped)"),
        (1, "a Step failed, or the contract has errors"),
        (2, "the command line is wrong, or the job exists already"),
        (
            3,
            "the run could not go on: the plan does not fit this machine, the disk is full, a file is unreadable",
        ),
        (129, "hung up (HUP)"),
        (130, "interrupted (Ctrl-C)"),
        (143, "terminated (TERM, or dsec cancel)"),
    ),
)

PLAN: Command = (
    "plan",
    "Compile a contract into a plan: order, devices, estimates, reasons and a hash.",
    (
        "The same contract on the same inventory gives the same bytes, on every run. Steps in a "
        "ds_config.yaml beside the contract count as its own. Errors of the contract, cycles and demands that "
        "the inventory cannot meet are shown, and no plan is written.",
        "With --diff the two FILES are plans, and their differences are listed Step by Step.",
    ),
    (("FILES", "many", (), "Contract (default: the one in this folder); with --diff two plans."),),
    (
        ("diff", "", "flag", "", (), None, "Compare two plans: --diff OLD NEW."),
        INVENTORY,
        JSON,
        OUTPUT,
    ),
    (
        ("dsec plan", "Show the plan for this machine."),
        ("dsec plan dsandbox.yaml -o plan.json", "Show it, and store it for: dsec run plan.json"),
        ("dsec plan --inventory pool.yaml --json", "Print the plan for machines one does not have here."),
        ("dsec plan --diff old.json new.json", "List what differs between two plans."),
    ),
    (
        (0, "planned (with --diff: the plans are the same)"),
        (1, "no plan is possible (with --diff: they differ)"),
        USAGE,
        UNKNOWN,
    ),
)

STATUS: Command = (
    "status",
    "Say how far a run is.",
    ("Read from the journal; works while the run goes on, after it, and after its executor was killed (dead).",),
    (JOB,),
    (JSON,),
    (("dsec status", "The latest run."), ("dsec status nightly-7 --json", "One run, as data.")),
    ((0, "printed"), USAGE, NO_RUN),
)

VERSION: Command = (
    "version",
    "Print the versions of DSec and of what it stands on.",
    ("What to put into a bug report: versions, platform, and whether YAML is read by the C parser.",),
    (),
    (JSON,),
    (("dsec version", "Print the table."), ("dsec --version", "Print only DSec's own version.")),
    ((0, "printed"), USAGE),
)

COMMANDS: tuple[Command, ...] = (
    CANCEL,
    CONFIG,
    DAG,
    EXPLAIN,
    INIT,
    INVENTORY_PAGE,
    LINT,
    LOGS,
    PLAN,
    REPORT,
    RESUME,
    RUN,
    STATUS,
    VERSION,
)

# program -> (the one command it is, or "" for a program with commands; the commands it has)
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "dsec": ("", tuple(command[0] for command in COMMANDS)),
    "ds-contract-lint": ("lint", ()),
    "ds-dag-analyze": ("dag", ()),
    "dsctl": ("", ("config", "version")),
}


def command(name: str) -> Command | None:
    """The grammar of the command `name`."""
    for row in COMMANDS:
        if row[0] == name:
            return row
    return None


class Args:
    """A parsed command line: every option and argument of the command as an attribute."""

    def __init__(self, values: dict[str, object]) -> None:
        self.__dict__.update(values)

    if TYPE_CHECKING:
        from typing import Any

        def __getattr__(self, name: str) -> Any: ...


def attribute(name: str) -> str:
    """The attribute of `Args` that holds the option or argument `name`."""
    return name.lower().replace("-", "_")


def defaults(row: Command) -> dict[str, object]:
    """What `Args` holds when nothing is given on the command line."""
    values: dict[str, object] = {}
    for name, arity, _, _ in row[3]:
        values[attribute(name)] = () if arity in ("some", "many") else None
    for name, _, kind, _, _, default, _ in row[4]:
        values[attribute(name)] = {"flag": False, "multi": ()}.get(kind, default)
    return values
