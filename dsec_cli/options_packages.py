"""Grammar of `dsec packages`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

PACKAGES: Command = (
    "packages",
    "Say which versions a contract's Python packages come to, and which cannot go together.",
    (
        "By itself it works offline, from a table of what releases require "
        "(docs/reference/package-table.md); your own rows are read from ~/.ds/conflicts.json and from "
        ".dsec/conflicts.json beside the contract.",
        "With --environment the contract is also held against what is installed there: PATH is a virtual "
        "environment, a Python, a site-packages folder, or - for the environment of dsec itself. The "
        "METADATA files are read; nothing is run or imported.",
        "With --resolve a resolver asks the index for a full answer: uv pip compile where uv is on the PATH "
        "or in the active environment, else resolvelib (the extra dsec[resolve]). The index is that of pip's "
        "settings. Only metadata are fetched, and no code of a package runs. The whole answer takes at most "
        "120 seconds, or --timeout; what is not found out by then ends with 3.",
    ),
    (("FILE", "maybe", (), "Contract; default: the one in this folder."),),
    (
        (
            "environment",
            "",
            "value",
            "PATH",
            (),
            None,
            "Hold the contract against the packages installed at PATH.",
        ),
        (
            "index",
            "",
            "value",
            "URL",
            (),
            None,
            "Ask this index (simple repository API) instead of the one that pip is configured for.",
        ),
        JSON,
        LANG,
        OUTPUT,
        (
            "python",
            "",
            "value",
            "VERSION",
            (),
            None,
            "Version of the Python that the packages are for, 3.11.4.",
        ),
        ("resolve", "", "flag", "", (), None, "Ask the index, and find a set of versions that works."),
        ("timeout", "", "int", "SECONDS", (), 120, "Longest that the answer of --resolve may take."),
    ),
    (
        ("dsec packages", "Check the packages of the contract in this folder."),
        ("dsec packages --environment .venv", "Also say what differs from what is installed in .venv."),
        ("dsec packages --python 3.12 --resolve", "Find versions for Python 3.12 in the index."),
    ),
    (
        (0, "the packages can go together, as far as is known"),
        (1, "packages conflict, or the environment or the index does not hold what is wanted"),
        USAGE,
        (3, "a file, an environment or the index could not be read, or there was no answer in time"),
    ),
)
