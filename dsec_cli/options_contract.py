"""Grammar of the commands that work on contracts and settings; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import INVENTORY, JSON, LANG, OUTPUT, SPLIT, UNKNOWN, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

CONFIG: Command = (
    "config",
    "Read and change the user settings.",
    (
        "Settings live in ~/.ds/config.yaml. A change replaces the file as a whole or not at all, and "
        "leaves its comments and the other settings as they are.",
        "DSec has no telemetry: nothing is ever sent. The setting is false, and true is refused.",
    ),
    (
        ("ACTION", "one", ("get", "list", "set", "unset"), "What to do."),
        ("KEY", "maybe", (), "Name of the setting."),
        ("VALUE", "maybe", (), "New value (set)."),
    ),
    (LANG,),
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
        "Shows levels, needs, tolerance, critical path, slack, a lower bound and idle GPU time. Edges "
        "come from needs, from files that one Step writes and another reads, and from communication. "
        "Steps in a ds_config.yaml beside the contract count as its own.",
        "A cyclic graph is drawn as well; every cycle is told on standard error, with the line of "
        "each edge and the cheapest place to break it.",
        "Without --inventory the graph is analysed on what the contract's baseline describes, of which no "
        "links are known; with it, on that machine, and how communicating Steps reach each other is said.",
        "--job-id lays the states and durations of a run over the graph; FILE is then found through the run.",
        "dsec dag and ds-dag-analyze are one program.",
    ),
    (("FILE", "maybe", (), "Contract; default: the one in this folder."),),
    (
        INVENTORY,
        (
            "job-id",
            "",
            "value",
            "JOB",
            (),
            None,
            "Show what this run (finished or not) did with each Step.",
        ),
        LANG,
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
            ("dot", "html", "json", "mermaid", "png", "svg", "text", "trace"),
            "text",
            "How the graph is drawn.",
        ),
        SPLIT,
    ),
    (
        ("ds-dag-analyze dsandbox.yaml", "Read the graph in the terminal."),
        ("ds-dag-analyze dsandbox.yaml --output dot | dot -Tpng -o dag.png", "Make a picture of it."),
        ("ds-dag-analyze --inventory builtin:8xh100-sxm-80gb", "Read it as it would be on that machine."),
        (
            "ds-dag-analyze --job-id abc123 --output dot | dot -Tpng -o dag.png",
            "Make a picture of a run.",
        ),
    ),
    (
        (0, "drawn"),
        (
            1,
            "the graph has cycles, or a break_cycle that breaks nothing, or the inventory cannot meet what "
            "is asked of it (it is drawn all the same)",
        ),
        USAGE,
        UNKNOWN,
    ),
)

EXPLAIN: Command = (
    "explain",
    "Explain a lint rule: why it exists, a bad and a good example.",
    ("Everything is read from the installed rules, so it works offline. Without CODE all rules are listed.",),
    (("CODE", "maybe", (), "Code (DS106) or name (bad-quantity) of a rule."),),
    (JSON, LANG),
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
        "Writes dsandbox.yaml into the folder: a two-Step job that lints clean and runs as it is "
        "(dsec run). An existing file is never overwritten.",
    ),
    (
        (
            "NAME",
            "maybe",
            (),
            "Name of the job: at most 64 letters, digits, '_', '.' and '-', a letter or digit first; "
            "default: the folder's name, other characters as '-'.",
        ),
    ),
    (
        ("dir", "", "value", "DIR", (), ".", "Folder to write into; it is created when missing."),
        LANG,
    ),
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
        "What was not available is said with its reason and remedy; a reading that could not be had "
        "is unknown, never 0. GPUs that CUDA_VISIBLE_DEVICES hides do not belong to the inventory.",
        "With --inventory the machines of a file are shown: YAML, JSON, the output of dsec inventory "
        "--json, what nvidia-smi printed (-q -x, -q, -L, the table, --query-gpu, topo -m); or builtin:NAME.",
    ),
    (),
    (INVENTORY, JSON, LANG, OUTPUT),
    (
        ("dsec inventory", "Show this machine."),
        (
            "dsec inventory --json -o box.json",
            "Save it, to plan for it elsewhere with --inventory box.json.",
        ),
        ("dsec inventory --inventory builtin:8xa100-sxm-80gb", "Show a machine that DSec brings along."),
    ),
    ((0, "shown, with or without GPUs"), USAGE, UNKNOWN),
)

PLAN: Command = (
    "plan",
    "Compile a contract into a plan: order, devices, estimates, reasons and a hash.",
    (
        "The same contract on the same inventory gives the same bytes, on every run. Steps in a "
        "ds_config.yaml beside the contract count as its own. Errors of the contract, cycles and "
        "demands that the inventory cannot meet are shown, and no plan is written.",
        "With --diff the two FILES are plans, and their differences are listed Step by Step.",
        "With --what-if, --noise or several --inventory nothing is stored: each scenario is planned, and "
        "all are shown side by side. A scenario is changes with commas between them: step=ID, then "
        "gpu.count, gpu.memory, gpu.type, gpu.share, gpu.within, gpu.topology, cpu, memory, duration (40s, "
        "or 50% of what it was), level, split or remove; and iterations, max_staleness or in_flight of "
        "the job.",
    ),
    (("FILES", "many", (), "Contract (default: the one in this folder); with --diff two plans."),),
    (
        ("diff", "", "flag", "", (), None, "Compare two plans: --diff OLD NEW."),
        (
            "durations",
            "",
            "value",
            "JOB",
            (),
            None,
            "Take durations from a run, a plan, a trace or a durations.json instead of from earlier runs; "
            "declared: from the contract alone.",
        ),
        (
            "inventory",
            "",
            "multi",
            "FILE",
            (),
            None,
            "Take the machines described in FILE (YAML, JSON, nvidia-smi output) or by builtin:NAME, not "
            "this one. Given more than once, plans are compared.",
        ),
        JSON,
        LANG,
        (
            "noise",
            "",
            "value",
            "SIGMA",
            (),
            None,
            "Also try each plan with durations drawn around the estimates (lognormal, 0.3 is usual).",
        ),
        OUTPUT,
        SPLIT,
        (
            "what-if",
            "",
            "multi",
            "CHANGES",
            (),
            None,
            "Plan with these changes beside the contract as it stands: step=S4,gpu.count=2.",
        ),
    ),
    (
        ("dsec plan", "Show the plan for this machine."),
        ("dsec plan dsandbox.yaml -o plan.json", "Show it, and store it for: dsec run plan.json"),
        (
            "dsec plan --inventory pool.yaml --json",
            "Print the plan for machines one does not have here.",
        ),
        ("dsec plan --diff old.json new.json", "List what differs between two plans."),
        (
            "dsec plan --what-if step=S4,gpu.count=2,duration=60%",
            "Show what more GPUs for a Step would give, if it then took 60 % of its time.",
        ),
        (
            "dsec plan --inventory builtin:4xrtx-4090 --inventory builtin:8xa100-sxm-80gb --noise 0.3",
            "Compare two machines, also for durations that are not as estimated.",
        ),
    ),
    (
        (0, "planned (with --diff: the plans are the same)"),
        (1, "no plan is possible (with --diff: they differ; with --what-if: not for every scenario)"),
        USAGE,
        UNKNOWN,
    ),
)

VERSION: Command = (
    "version",
    "Print the versions of DSec and of what it stands on.",
    ("What to put into a bug report: versions, platform, and whether YAML is read by the C parser.",),
    (),
    (
        JSON,
        LANG,
    ),
    (("dsec version", "Print the table."), ("dsec --version", "Print only DSec's own version.")),
    ((0, "printed"), USAGE),
)
