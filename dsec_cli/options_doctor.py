"""Grammar of `dsec doctor`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

DOCTOR: Command = (
    "doctor",
    "Look for what earlier runs left on this machine, and end it.",
    (
        "Lists processes of runs whose executor is gone, whoever is their parent now: they carry the run's "
        "name in their environment, write to its logs, or descend from one that does. Says what memory "
        "they hold on host and devices.",
        "With --reap it asks and then ends them: TERM, two seconds, KILL, each by pid and start time. "
        "Processes of runs that go on, of other users and of nobody's run are never touched.",
    ),
    (),
    (
        JSON,
        LANG,
        ("reap", "", "flag", "", (), None, "End what is left, after asking."),
        ("yes", "y", "flag", "", (), None, "Do not ask."),
    ),
    (
        ("dsec doctor", "Say whether anything is left."),
        ("dsec doctor --reap", "End what is left, after asking."),
    ),
    ((0, "nothing is left"), (1, "something is left"), USAGE),
)
