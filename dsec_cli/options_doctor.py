"""Grammar of `dsec doctor`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

DOCTOR: Command = (
    "doctor",
    "Say whether this machine is fit for runs, and end what earlier ones left.",
    (
        "Asks the driver, the GPUs, the kernel and the disk, each question within a time of its own, and "
        "says per question what is so, what it rests on and what mends it. What is not here at all is no "
        "problem, unless --require names it.",
        "Also lists processes of runs whose executor is gone, whoever is their parent now: they carry the "
        "run's name in their environment, write to its logs, or descend from one that does. With --reap it "
        "asks and then ends them: TERM, two seconds, KILL, each by pid and start time. Processes of runs "
        "that go on, of other users and of nobody's run are never touched.",
    ),
    (),
    (
        ("fix", "", "flag", "", (), None, "Mend what can be mended without harm, and say what was done."),
        JSON,
        LANG,
        ("only", "", "value", "NAMES", (), None, "Ask only these, with commas (names as they are printed)."),
        ("reap", "", "flag", "", (), None, "End what is left, after asking."),
        (
            "require",
            "",
            "value",
            "NAMES",
            (),
            None,
            "These must be here and in order, with commas: gpu, landlock, cgroups, ...",
        ),
        ("smi", "", "value", "FILE", (), None, "Judge the GPUs in saved output of nvidia-smi -q (or -q -x)."),
        ("yes", "y", "flag", "", (), None, "Do not ask."),
    ),
    (
        ("dsec doctor", "Look at everything."),
        ("dsec doctor --require gpu,landlock", "Refuse a CI machine without GPU or Landlock."),
        ("dsec doctor --reap", "End what is left, after asking."),
        ("nvidia-smi -q | dsec doctor --smi -", "Judge the GPUs by what nvidia-smi prints."),
    ),
    (
        (0, "no problem"),
        (1, "a problem, something required that is not here, or processes that are left"),
        USAGE,
        (3, "something required could not be found out, or a file could not be read"),
    ),
)
