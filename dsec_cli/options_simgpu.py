"""Grammar of the command that simulates GPUs; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

SIM_GPU: Command = (
    "sim-gpu",
    "Run a command on a machine with simulated GPUs, and with what goes wrong on them.",
    (
        "The command, and all that it starts, find a simulated NVIDIA library (libnvidia-ml.so.1): dsec "
        "inventory, dsec run, nvitop and gpustat see its GPUs, CUDA programs do not. It is built with the C "
        "compiler that is there, once.",
        "Processes whose CUDA_VISIBLE_DEVICES names a simulated GPU hold it: it is as full as they use "
        "memory of the host (or as the variable SIM_GPU_MIB of a process says), and as busy as they use a "
        "processor.",
        "A rule is [gpu=N,]KEY[=VALUE][@FROM[-UNTIL]]: gpu=3,lost@10s, gpu=*,temperature=ramp:45:95:60, "
        "gpu=2,xid=79@1m, init=18. Rules also stand in files, one a line (@10s gpu 3 lost 1), which may be "
        "changed while the command runs.",
    ),
    (("COMMAND", "many", (), "Command with its arguments, after --."),),
    (
        LANG,
        ("list", "", "flag", "", (), None, "Print the boxes and the scenarios that there are."),
        (
            "profile",
            "",
            "value",
            "BOX",
            (),
            "8xh100-sxm-80gb",
            "Box: the name of a built-in inventory, or the start of one, or COUNTxTYPE (64xl4, 0xh100).",
        ),
        ("quiet", "q", "flag", "", (), None, "Do not say where the rules stand."),
        (
            "scenario",
            "",
            "multi",
            "FILE",
            (),
            None,
            "Add the rules of FILE, or of a ready-made scenario (--list); may be repeated.",
        ),
        ("set", "", "multi", "RULE", (), None, "Add a rule; may be repeated, the last one wins."),
    ),
    (
        ("dsec sim-gpu --profile 8xh100 -- dsec inventory", "See what a box of eight H100 looks like."),
        ("dsec sim-gpu --set gpu=3,lost@10s -- dsec run", "Lose a GPU in mid-run."),
        ("dsec sim-gpu --scenario wsl -- nvitop -1", "See what another program makes of Linux on Windows."),
    ),
    (
        (0, "the command's exit code is passed on; 128 and more: the signal that ended it"),
        USAGE,
        (3, "the library could not be built, or a file of rules is wrong"),
        (127, "there is no such command"),
    ),
)
