"""Grammar of `dsec daemon`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

DAEMON: Command = (
    "daemon",
    "Share the GPUs of this machine among your runs, or show who has which.",
    (
        "Runs of one user that go on at the same time share the GPUs through a broker: who has had least is "
        "served first, a request is granted whole or not at all, and nobody starves. The first run with GPUs "
        "starts a broker, which ends by itself when nobody is left, so this command is seldom needed: it is "
        "a broker in the foreground, for a service manager, and stays until it is told to end.",
        "A broker that is killed costs no run anything: another one takes over what it had granted.",
    ),
    (),
    (
        JSON,
        LANG,
        ("show", "", "flag", "", (), None, "Print who has which GPU and who waits, and be no broker."),
    ),
    (
        ("dsec daemon --show", "Which run has which GPU, and who waits since when."),
        ("dsec daemon", "Be the broker, until Ctrl-C."),
    ),
    (
        (0, "printed"),
        (1, "there is a broker already; with --show: there is none"),
        USAGE,
        (3, "its folder cannot be used"),
        (130, "interrupted (Ctrl-C)"),
        (143, "terminated (TERM)"),
    ),
)
