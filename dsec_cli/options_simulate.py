"""Grammar of the command that plays runs on a simulated clock; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import INVENTORY, JSON, LANG, OUTPUT, UNKNOWN, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

SIMULATE: Command = (
    "simulate",
    "Play a contract, a plan or a fleet on a simulated clock, with faults.",
    (
        "FILE is a contract (planned first), a plan.json, or a fleet: servers, classes of agents and "
        "faults. What starts when, and where, is decided by the code that dsec run uses; nothing is "
        "executed. Shown are makespan, use of GPUs over time, waits, hunger, recovery after faults, cost.",
        "A fault is KIND:WHAT[xFACTOR]@TIME[+DURATION]: gpu-lost:3@12m, node-lost:s1@1h+10m, "
        "slow:3x0.5@12m+10m (a GPU at half its speed), straggler:S4x3@2m (a Step that takes three times "
        "what is left of it). Without +DURATION it lasts.",
    ),
    (("FILE", "maybe", (), "Contract, plan.json or fleet; default: the contract of this folder."),),
    (
        ("detect", "", "value", "TIME", (), None, "Assumed from a fault until it is noticed; default: 0s."),
        ("fault", "", "multi", "FAULT", (), None, "Something that goes wrong; may be repeated."),
        ("hold", "", "value", "WHAT", ("agent", "step"), None, "Fleets: what an agent holds GPUs for."),
        (
            "html",
            "",
            "value",
            "FILE",
            (),
            None,
            "Write a page with the graph and its time line to FILE, too.",
        ),
        INVENTORY,
        ("iterations", "", "int", "N", (), None, "Play so many iterations instead of the stated ones."),
        JSON,
        LANG,
        OUTPUT,
        (
            "price",
            "",
            "multi",
            "[TYPE=]AMOUNT",
            (),
            None,
            "Price of a GPU and hour, of one type or of all others; may be repeated.",
        ),
        (
            "restore",
            "",
            "value",
            "TIME",
            (),
            None,
            "Assumed for a stopped Step from its new start until it works; default: 0s.",
        ),
        ("seed", "", "int", "N", (), None, "Fleets: seed of what is drawn, instead of the stated one."),
        ("trace", "", "value", "FILE", (), None, "Write a Chrome trace of all attempts to FILE, too."),
    ),
    (
        ("dsec simulate", "Play the contract of this folder on this machine."),
        (
            "dsec simulate plan.json --iterations 100 --fault gpu-lost:3@12m",
            "What a plan makes of a GPU that is lost.",
        ),
        (
            "dsec simulate dsandbox.yaml --inventory builtin:8xh100-sxm-80gb --price 2.50",
            "What it would take, and cost, on a machine one does not have.",
        ),
        ("dsec simulate plan.json --html sim.html", "See it: the graph, as planned and as played."),
        ("dsec simulate fleet.yaml --trace fleet.json", "Thousands of agents on several servers."),
    ),
    (
        (0, "played, and everything was done"),
        (1, "something could never start, or the file has errors"),
        USAGE,
        UNKNOWN,
    ),
)
