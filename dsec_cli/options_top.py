"""Grammar of `dsec top`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import COLOR, JOB, JSON, LANG, NO_RUN, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

TOP: Command = (
    "top",
    "Watch a run: devices, Steps, what waits and why, a log.",
    (
        "Reads the run's journal and its monitor's samples as they grow, and asks the driver itself; the "
        "executor is never asked. Works on a run that has ended, too. Without a terminal it prints one "
        "picture, as with --once.",
        "Keys: q leaves; arrows, tab, j and k choose the Step whose log is shown; l shows the log alone, h "
        "the use of each GPU from the start of the run, n all notices; p holds the picture; Esc goes back.",
    ),
    (JOB,),
    (
        COLOR,
        ("interval", "n", "value", "SECONDS", (), "1", "Time between two pictures, from 0.1."),
        JSON,
        LANG,
        ("once", "", "flag", "", (), None, "Print one picture and leave."),
    ),
    (
        ("dsec top", "Watch the latest run."),
        ("dsec top nightly-7 --once", "One picture, for a script or a message."),
        ("dsec top --json | jq '.devices[].busy_permille'", "The same as data."),
    ),
    ((0, "shown"), USAGE, NO_RUN),
)
