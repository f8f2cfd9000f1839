"""Grammar of `dsec code`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

CODE: Command = (
    "code",
    "Say what an agent's Python needs: tools, variables, network, files, programs.",
    (
        "The code is read as syntax; nothing of it is imported or run. Values are followed through names, "
        "arguments and modules, and what cannot be known is said with the reason.",
        "Hidden folders, environments (venv), and tests are left out, and with --contract also what its "
        "include-code excludes.",
        "With --contract the needs are held against the contract: what it lacks, with the lines to add, and "
        "what it allows and nobody uses (DS801 to DS807).",
    ),
    (("DIR", "maybe", (), "Folder of the agent's code; default: this folder."),),
    (
        ("contract", "", "value", "FILE", (), None, "Hold the needs against this contract."),
        JSON,
        LANG,
        OUTPUT,
    ),
    (
        ("dsec code agent", "Show what the code in agent/ needs."),
        ("dsec code agent --json -o needs.json", "Write it as JSON."),
        ("dsec code agent --contract dsandbox.yaml", "Show what the contract lacks."),
    ),
    (
        (0, "shown (with --contract: nothing is missing, or only remarks)"),
        (1, "the contract lacks something that the code needs"),
        USAGE,
        (3, "the folder or the contract could not be read, or holds no Python"),
    ),
)
