"""Grammar of the commands that work on runs; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JOB, JSON, LANG, NO_RUN, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command, Option

METRICS: tuple[Option, ...] = (
    (
        "metric-compat",
        "",
        "flag",
        "",
        (),
        None,
        "Show metrics under the names of the design document, too (dsec_melt_down_count, ...).",
    ),
    (
        "metrics-file",
        "",
        "value",
        "PATH",
        (),
        None,
        "Keep the run's metrics in a text file for the node exporter: *.prom in its folder.",
    ),
    (
        "metrics-port",
        "",
        "value",
        "PORT",
        (),
        None,
        "Serve the run's metrics for Prometheus on this port of this machine (ADDRESS:PORT: to others, too).",
    ),
)

INVENTORY: Option = (
    "inventory",
    "",
    "value",
    "FILE",
    (),
    None,
    "Plan for the machine that FILE or builtin:NAME describes, and take no more of this one than it has.",
)

PROBE: Option = (
    "probe",
    "",
    "flag",
    "",
    (),
    None,
    "Time what Steps wait for without using it: syncs, long writes, locks, Python's own. Needs a C compiler.",
)

SNAPSHOTS: Option = (
    "snapshots",
    "",
    "value",
    "WHEN",
    ("auto", "always", "never"),
    "auto",
    "Take snapshots at the start, every 5 minutes and at the finish; auto: of runs that last 20 s.",
)

CANCEL: Command = (
    "cancel",
    "End a run that is going on.",
    (
        "Asks the run's executor to end its Steps (TERM, each Step's grace period, KILL) and waits "
        "until nothing is left. The executor is known by pid, start time and boot, so no other "
        "process is ever signalled.",
    ),
    (JOB,),
    (LANG,),
    (("dsec cancel nightly-7", "End the run nightly-7; dsec resume would continue it."),),
    ((0, "ended"), (1, "it was not running"), USAGE, NO_RUN),
)

FETCH: Option = (
    "fetch",
    "",
    "flag",
    "",
    (),
    None,
    "Fetch dependencies with an http(s) or s3 source that state a hash; without it they are not verified.",
)

HASH: Command = (
    "hash",
    "Print the hash of a file or a folder, as a dependency states it.",
    (
        "A file's hash is that of its bytes, as b3sum and sha256sum print it. A folder's covers the "
        "names, contents, links and execute bits in it, not its times or owners; the page on "
        "dependencies has the definition.",
    ),
    (("PATH", "one", (), "File or folder."),),
    (
        ("algorithm", "a", "value", "NAME", ("blake3", "sha256"), "blake3", "Which hash."),
        LANG,
    ),
    (
        ("dsec hash models/reward", "What to write as the dependency's hash."),
        ("dsec hash reward.bin --algorithm sha256", "The same digits that sha256sum prints."),
    ),
    (
        (0, "printed"),
        USAGE,
        (3, "it cannot be read, changed while it was read, or holds a link that leads out of it"),
    ),
)

LOGS: Command = (
    "logs",
    "Print what the Steps of a run wrote.",
    (
        "Each attempt has a log of its own; calls of a resident worker share the worker's, and their "
        "part of it is shown.",
        "--grep prints the lines that match a regular expression (of Python) alone, each with its attempt "
        "before it where several are looked through.",
    ),
    (JOB, ("STEP", "maybe", (), "Only this Step.")),
    (
        ("follow", "f", "flag", "", (), None, "Go on printing until the run ends."),
        ("grep", "g", "value", "PATTERN", (), None, "Only lines that match."),
        ("iteration", "", "int", "N", (), None, "Only this iteration, from 0."),
        LANG,
    ),
    (
        ("dsec logs nightly-7 S5 --iteration 3", "What Step S5 printed in iteration 3, all attempts."),
        ("dsec logs nightly-7 -f", "Follow a run."),
        ("dsec logs nightly-7 --grep 'loss=nan|Error'", "Find lines in all logs of a run."),
    ),
    (
        (0, "printed"),
        (1, "no line matches"),
        (2, "the run has no such Step or iteration"),
        (3, "there is no such run, or the Step has not started"),
    ),
)

REPORT: Command = (
    "report",
    "Say what a run came to.",
    (
        "Built from the run's plan, journal and samples: per Step the counts, times, CPU, memory, retries "
        "and failures; idle share, critical path planned and actual, results; what happened to Steps and "
        "devices; of runs with GPUs their use over time and the settlement. A run that has ended also gets "
        "report.json and report.md in its folder.",
        "--output html writes one page that works offline: the graph with the times of the run, planned and "
        "actual time line, heat map, memory of each Step, failures with their last lines, settlement.",
    ),
    (JOB,),
    (
        JSON,
        LANG,
        ("out", "o", "value", "FILE", (), None, "Write to FILE (whole or not at all)."),
        ("output", "", "value", "FORM", ("html", "json", "text"), "text", "In which form."),
        ("prices", "", "value", "FILE", (), None, "Prices to settle by; default: the setting prices."),
    ),
    (
        ("dsec report", "Report on the latest run."),
        ("dsec report nightly-7 --json", "The same as data."),
        ("dsec report nightly-7 --output html -o nightly-7.html", "A page to be looked at and sent on."),
        ("dsec report --prices prices.yaml", "What it cost."),
    ),
    ((0, "printed"), USAGE, (3, "there is no such run, or its journal or the prices cannot be read")),
)

RESUME: Command = (
    "resume",
    "Go on with a run that was interrupted, killed or failed.",
    (
        "Ends what the earlier executor left behind, then does what is not done: a Step whose success "
        "is in the journal and whose outputs exist is not run again. Failed Steps get their retries "
        "anew.",
    ),
    (JOB,),
    (
        FETCH,
        INVENTORY,
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
        LANG,
        *METRICS,
        PROBE,
        ("quiet", "q", "flag", "", (), None, "Print only how the run ended."),
        SNAPSHOTS,
    ),
    (
        ("dsec resume", "Go on with the latest run."),
        ("dsec resume nightly-7", "Go on with the run nightly-7."),
    ),
    (
        (0, "every Step succeeded"),
        (1, "a Step failed, or a dependency is not as stated"),
        USAGE,
        (
            3,
            "there is no such run, another process carries it out, it could not go on, or a dependency "
            "could not be looked at",
        ),
        (130, "interrupted (Ctrl-C)"),
        (143, "terminated (TERM, or dsec cancel)"),
    ),
)

RUN: Command = (
    "run",
    "Carry out a contract or a plan on this machine.",
    (
        "FILE is a contract (compiled first, as dsec plan does) or a plan.json; without it the "
        "contract of this folder is taken. Every transition is journalled in .dsec/runs/JOB before it "
        "is acted on, so a run that was killed at any moment goes on with dsec resume JOB.",
        "Ctrl-C ends the Steps with TERM and, after each Step's grace period, KILL; a second Ctrl-C "
        "shortens the grace to a second, a third ends everything at once. No process of the run is "
        "left over, also when dsec itself is killed.",
    ),
    (("FILE", "maybe", (), "Contract or plan.json; default: the contract of this folder."),),
    (
        FETCH,
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
        LANG,
        *METRICS,
        PROBE,
        ("quiet", "q", "flag", "", (), None, "Print only how the run ended."),
        SNAPSHOTS,
    ),
    (
        ("dsec run", "Run the contract of this folder."),
        ("dsec run plan.json --job-id nightly-7", "Run a stored plan under a name of one's own."),
        (
            "dsec run --json | jq -c 'select(.event == \"exit\")'",
            "Follow the ends of the Steps in a script.",
        ),
    ),
    (
        (0, "every Step succeeded (discardable ones may have been dropped)"),
        (1, "a Step failed, a dependency is not as stated, or the contract has errors"),
        (2, "the command line is wrong, or the job exists already"),
        (
            3,
            "the run could not go on: the plan does not fit this machine, the disk is full, its GPU-hours "
            "are used up, a file is unreadable, or a dependency could not be looked at",
        ),
        (129, "hung up (HUP)"),
        (130, "interrupted (Ctrl-C)"),
        (143, "terminated (TERM, or dsec cancel)"),
    ),
)

STATUS: Command = (
    "status",
    "Say how far a run is.",
    (
        "Read from the journal; works while the run goes on, after it, and after its executor was "
        "killed (dead).",
    ),
    (JOB,),
    (
        JSON,
        LANG,
        (
            "why",
            "",
            "value",
            "STEP",
            (),
            None,
            "Say why this Step waits, and its hunger with the numbers it is made of.",
        ),
    ),
    (
        ("dsec status", "The latest run."),
        ("dsec status nightly-7 --json", "One run, as data."),
        ("dsec status --why S4", "What holds one Step up."),
    ),
    ((0, "printed"), USAGE, NO_RUN),
)
