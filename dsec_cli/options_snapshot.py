"""Grammar of `dsec snapshot ...`, `dsec sandbox run` and `dsec code bundle`; see `options`."""

from __future__ import annotations

from dsec_cli.options_run import FETCH
from dsec_cli.options_shared import COLOR, INVENTORY, JSON, LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command, Option

NAME: Argument = ("NAME", "one", (), "Name of a snapshot, the beginning of its id, or @latest.")
NONE = (3, "there is no such snapshot, or the store could not be read")
ACCEPT: Option = (
    "accept",
    "",
    "multi",
    "DIGEST",
    (),
    None,
    "Take the value with this digest in as it is: it is no secret. It is remembered in .dsec/accepted.json.",
)
DEVICES: Option = (
    "inventory",
    "",
    "value",
    "FILE",
    (),
    None,
    "Take the machine described in FILE or by builtin:NAME for this one.",
)

CREATE: Command = (
    "snapshot create",
    "Take down code, packages, environment and machine as they are.",
    (
        "The code is what git knows and what is not ignored; .git is never read. Of packages the hashes of "
        "their RECORDs, of the environment the variables that are known to be harmless, of the machine GPUs, "
        "links, driver, kernel and mounts are taken down, of a run its plan and the hashes of its results.",
        "Secrets do not get in: they are replaced by digests that only this user's key can make, and each is "
        "told. What is not in the snapshot is told with the reason.",
        "With --include-code or --include-deps only that of the two is taken; with neither, both are.",
    ),
    (("FILE", "maybe", (), "Contract or folder; default: the project around this folder."),),
    (
        ACCEPT,
        (
            "budget",
            "",
            "value",
            "SIZE",
            (),
            None,
            "Bytes that the code may have (default 256MiB), or none; more is refused with the largest paths.",
        ),
        (
            "data",
            "",
            "multi",
            "PATH",
            (),
            None,
            "Take the hash of this file or folder down; PATH:content takes it in as a whole.",
        ),
        ("deps-content", "", "flag", "", (), None, "Take the files of the packages in, too."),
        ("full-state", "", "flag", "", (), None, "Take the files of the run in: checkpoints, outputs."),
        ("include-code", "", "flag", "", (), None, "Take the code."),
        ("include-deps", "", "flag", "", (), None, "Take the packages down."),
        INVENTORY,
        ("job", "", "value", "JOB", (), None, "The run that belongs to it; default: the latest."),
        JSON,
        LANG,
        ("name", "", "value", "NAME", (), None, "Its name; default: <folder>-<UTC time>-<4 hex digits>."),
    ),
    (
        ("dsec snapshot create --name v2.3 --include-code --include-deps", "Take a snapshot."),
        ("dsec snapshot create --name v2.3-full --full-state", "With the files of the latest run."),
    ),
    (
        (0, "taken; what is absent or partial is told"),
        USAGE,
        (3, "the code is larger than its budget, or a file or the store could not be read or written"),
    ),
)

DIFF: Command = (
    "snapshot diff",
    "Say what differs between two snapshots, or between one and this machine now.",
    (
        "Code line by line with the function it is in, packages, variables, GPUs, driver and links, kernel, "
        "mounts, data, seeds. What is known to change results comes first, the likeliest on top. Where the "
        "GPU type differs, lines that write the path of a kernel cache out are pointed at.",
    ),
    (
        ("BEFORE", "one", (), "Name of a snapshot, the beginning of its id, or @latest."),
        (
            "AFTER",
            "maybe",
            (),
            "Another one; default, and what . means: this machine and folder as they are.",
        ),
    ),
    (
        ("all", "a", "flag", "", (), None, "List everything, also what is many."),
        COLOR,
        DEVICES,
        JSON,
        LANG,
        (
            "only",
            "",
            "multi",
            "SECTION",
            (
                *(
                    "checks",
                    "code",
                    "command",
                    "data",
                    "dependencies",
                    "environment",
                    "hardware",
                    "kernel",
                    "libraries",
                ),
                *("mounts", "run", "seeds", "settings", "state"),
            ),
            None,
            "Compare only this section.",
        ),
        ("out", "o", "value", "FILE", (), None, "Write to FILE (whole or not at all)."),
        ("output", "", "value", "FORM", ("html", "json", "text"), "text", "In which form."),
    ),
    (
        ("dsec snapshot diff v2.2 v2.3", "What changed from one to the other?"),
        ("dsec snapshot diff v2.3 .", "What is different here, now?"),
        ("dsec snapshot diff v2.3 . --output html -o diff.html", "A page to be sent on."),
    ),
    ((0, "nothing differs"), (1, "something differs"), USAGE, NONE),
)

INSPECT: Command = (
    "snapshot inspect",
    "Say what is in a snapshot, what takes the space, what is missing and why.",
    (),
    (NAME,),
    (
        ("files", "", "flag", "", (), None, "List every file of the code with size and hash."),
        JSON,
        LANG,
        ("top", "", "int", "N", (), 10, "How many of the largest files are named."),
    ),
    (
        ("dsec snapshot inspect v2.3", "Look into a snapshot."),
        ("dsec snapshot inspect @latest --files", "Which files are in the newest one?"),
    ),
    ((0, "printed"), USAGE, NONE),
)

LIST: Command = (
    "snapshot list",
    "List the snapshots of a project.",
    (),
    (("FOLDER", "maybe", (), "The project's folder; default: the project around this one."),),
    (JSON, LANG),
    (("dsec snapshot list", "Name, id, time, occasion and size of each."),),
    ((0, "printed"), USAGE, (3, "there are no snapshots here, or the store could not be read")),
)

PRUNE: Command = (
    "snapshot prune",
    "Forget snapshots, and free what nothing needs any more.",
    (
        "Without names only automatic snapshots go: those of runs beyond the latest 20, and of each run the "
        "states between its marks beyond the last 12. What was taken by hand goes only by its name.",
        "Work areas of dsec snapshot run beyond the latest 20 go, too, unless their run has not ended, and "
        "environments that no snapshot names any more.",
    ),
    (("NAMES", "many", (), "Snapshots to forget."),),
    (
        (
            "budget",
            "",
            "value",
            "SIZE",
            (),
            None,
            "Forget automatic ones, the oldest first, until the store takes no more than this.",
        ),
        ("dry-run", "n", "flag", "", (), None, "Only say what would be forgotten."),
        JSON,
        ("keep-runs", "", "int", "N", (), None, "Of how many runs automatic snapshots stay; default: 20."),
        LANG,
    ),
    (
        ("dsec snapshot prune", "Tidy up."),
        ("dsec snapshot prune v2.2 --dry-run", "What would go?"),
    ),
    ((0, "done"), USAGE, NONE),
)

RESTORE: Command = (
    "snapshot restore",
    "Write the code of a snapshot, or a part of it, into a new folder; also its data, and files of its run.",
    (
        "All of it appears at once, or nothing. Where secrets were replaced, those of the present work tree "
        "are put back if they are the same; others are named with file and line.",
    ),
    (NAME, ("PATH", "maybe", (), "A file or folder of it; default: all of it.")),
    (
        JSON,
        LANG,
        (
            "section",
            "",
            "value",
            "SECTION",
            ("code", "data", "dependencies", "state"),
            "code",
            "What to write: the code; data that --data PATH:content took in; packages of --deps-content; "
            "files of --full-state. Two names of one file become one file again.",
        ),
        (
            "to",
            "",
            "value",
            "DIR",
            (),
            None,
            "Where to; default: .dsec/restored/NAME. It must be new, or empty.",
        ),
    ),
    (
        ("dsec snapshot restore v2.3 --to ../v2.3", "Get last week's code back."),
        ("dsec snapshot restore v2.3 train.py --to old", "Only one file."),
        ("dsec snapshot restore v2.3 --section state --to work", "Its checkpoints and outputs."),
    ),
    ((0, "written"), USAGE, NONE),
)

_RUNNING: tuple[Option, ...] = (
    (
        "allow-drift",
        "",
        "flag",
        "",
        (),
        None,
        "Run the recorded code though code, packages or data here differ; the differences are shown.",
    ),
    (
        "compat",
        "",
        "flag",
        "",
        (),
        None,
        "Go on where this machine is less than the recorded one; each adaptation is named.",
    ),
    ("dry-run", "n", "flag", "", (), None, "Check and tell, and start nothing."),
    FETCH,
    DEVICES,
    ("job-id", "", "value", "ID", (), None, "Name of the run; default: <name>-<UTC time>-<4 hex digits>."),
    ("json", "", "flag", "", (), None, "With --dry-run print one JSON document instead of text."),
    LANG,
    (
        "link",
        "",
        "multi",
        "PATH",
        (),
        None,
        "Let the run use this folder's PATH, which is not in the snapshot: data that git ignores.",
    ),
    ("quiet", "q", "flag", "", (), None, "Of the run print only how it ended."),
    (
        "rebuild-env",
        "",
        "flag",
        "",
        (),
        None,
        "Where packages differ install the recorded versions in .dsec/environments, and check their files.",
    ),
)
_RAN = (
    (0, "every Step succeeded, and the results are the recorded ones"),
    (1, "something differs from the snapshot (nothing was started), a Step failed, or results differ"),
    USAGE,
    (3, "there is no such snapshot, or the run could not go on"),
    (130, "interrupted (Ctrl-C)"),
    (143, "terminated (TERM, or dsec cancel)"),
)
_ABOUT_RUNNING = (
    "First the machine is held against the record (GPU type, number and memory, driver, CUDA, links, "
    "processors), then packages, data and the code of this folder. If something differs the run does not "
    "start, and the differing lines are shown; --allow-drift and --compat go on all the same.",
    "Then the code is rebuilt in .dsec/reruns/JOB, variables are set as recorded, the recorded plan is "
    "carried out, and the hashes of what it made are compared with the recorded ones.",
)

SNAPSHOT_RUN: Command = (
    "snapshot run",
    "Run a snapshot again, if all is as it was, or say what is not.",
    _ABOUT_RUNNING,
    (NAME,),
    _RUNNING,
    (
        ("dsec snapshot run v2.3", "Get last week's run back."),
        ("dsec snapshot run v2.3 --dry-run", "Would it run as it did?"),
    ),
    _RAN,
)

SANDBOX_RUN: Command = (
    "sandbox run",
    "Run a snapshot again: the same as dsec snapshot run.",
    _ABOUT_RUNNING,
    (),
    (
        *_RUNNING,
        (
            "snapshot",
            "",
            "value",
            "NAME",
            (),
            None,
            "The snapshot: its name, the beginning of its id, or @latest.",
        ),
    ),
    (("dsec sandbox run --snapshot v2.3", "Get last week's run back."),),
    _RAN,
)

VERIFY: Command = (
    "snapshot verify",
    "Say whether what is stored is still what was put in.",
    ("Everything is read and compared with its hashes; damage is named with the snapshots that it hits.",),
    (("NAME", "maybe", (), "Only this snapshot; default: the whole store."),),
    (
        JSON,
        LANG,
        ("quick", "", "flag", "", (), None, "Look at the tables of the store only, not at the content."),
    ),
    (
        ("dsec snapshot verify", "Check the whole store."),
        ("dsec snapshot verify v2.3", "Check one snapshot."),
    ),
    ((0, "intact"), (1, "damaged"), USAGE, NONE),
)

CODE_BUNDLE: Command = (
    "code bundle",
    "Pack the code as git sees it into one archive.",
    (
        "Tracked files and those that are neither tracked nor ignored; outside git, what .gitignore files do "
        "not name. The same files give the same bytes: no times, no owners. Secrets are replaced and told.",
    ),
    (("DIR", "maybe", (), "The project's folder; default: the project around this one."),),
    (ACCEPT, LANG, OUTPUT),
    (
        ("dsec code bundle -o code.tar.gz", "Pack the code of this project."),
        ("dsec code bundle agent -o - | tar tz", "What would be in it?"),
    ),
    ((0, "written"), USAGE, (3, "the folder could not be read, or the archive not be written")),
)

SNAPSHOTS = (CREATE, DIFF, INSPECT, LIST, PRUNE, RESTORE, SNAPSHOT_RUN, VERIFY)
