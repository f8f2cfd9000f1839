"""Grammar of the linter and of the list of its rules; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import COLOR, INVENTORY, JSON, LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

FORMATS = (
    "concise", "github", "gitlab", "json", "jsonl", "junit", "markdown", "rdjson", "sarif", "text",
)  # fmt: skip
FAIL_ON = ("error", "warning", "info", "never")

LINT: Command = (
    "lint",
    "Check contracts and say what is wrong, where, why and what to write instead.",
    (
        "PATHS are files, quoted patterns ('jobs/**/*.yaml'), folders (searched for dsandbox.yaml, "
        "agent-train-sandbox.yaml, ds_config.yaml and plugin.yaml, not deeper) or - for standard input; "
        "without PATHS this folder is searched.",
        "--output names a format, and after a colon the file it goes to; several may be given. -f FORMAT "
        "-o FILE is short for --output FORMAT:FILE.",
        "A line is excused by a comment that names the code and says why, on the line or on the line "
        "above: # dsec: ignore[DS203] the pool is ours alone.",
        "Options that are always the same belong into [tool.dsec.lint] of pyproject.toml or [lint] of "
        ".dsec.toml; the command line goes first.",
        "dsec lint and ds-contract-lint are one program.",
    ),
    (("PATHS", "many", (), "Files, patterns, folders or - for standard input."),),
    (
        (
            "baseline",
            "",
            "value",
            "FILE",
            (),
            None,
            "Do not count findings that FILE lists; it is written by --write-baseline.",
        ),
        (
            "code",
            "",
            "value",
            "DIR",
            (),
            None,
            "Also read the agent's Python in DIR, and hold the contract against what it needs (DS801-DS807).",
        ),
        COLOR,
        (
            "diff",
            "",
            "flag",
            "",
            (),
            None,
            "Write nothing and report nothing; print what --fix would change, exit 1 when that is anything.",
        ),
        (
            "exclude",
            "",
            "multi",
            "GLOB",
            (),
            None,
            "Leave out files that match: legacy/**, or *.tmp.yaml in any folder.",
        ),
        (
            "exit-zero",
            "",
            "flag",
            "",
            (),
            None,
            "Exit 0 although there are findings (2, 3 and 70 stay).",
        ),
        (
            "fail-on",
            "",
            "value",
            "SEVERITY",
            FAIL_ON,
            None,
            "Exit 1 from this severity on; without it: warning.",
        ),
        (
            "fix",
            "",
            "flag",
            "",
            (),
            None,
            "Mend what can be mended safely, then report what is left; - goes to standard output.",
        ),
        (
            "format",
            "f",
            "value",
            "FORMAT",
            FORMATS,
            None,
            "How the findings are written; without it: text.",
        ),
        (
            "ignore",
            "",
            "multi",
            "CODES",
            (),
            None,
            "Leave out these codes, prefixes (DS3) or names, comma separated.",
        ),
        INVENTORY,
        ("isolated", "", "flag", "", (), None, "Read no configuration file."),
        LANG,
        (
            "no-cache",
            "",
            "flag",
            "",
            (),
            None,
            "Lint anew, and remember nothing. Answers are kept in DSEC_CACHE_DIR, else ~/.cache/dsec.",
        ),
        (
            "output",
            "",
            "multi",
            "FORMAT[:FILE]",
            (),
            None,
            "Write this format to FILE, or to standard output.",
        ),
        (
            "output-file",
            "o",
            "value",
            "FILE",
            (),
            None,
            "Write to FILE (whole or not at all) instead of standard output.",
        ),
        (
            "profile-rules",
            "",
            "flag",
            "",
            (),
            None,
            "Tell on standard error how much processor time each rule took.",
        ),
        ("quiet", "q", "flag", "", (), None, "One line per finding, and no summary."),
        (
            "select",
            "",
            "multi",
            "CODES",
            (),
            None,
            "Only these codes, prefixes (DS5) or names, comma separated.",
        ),
        ("show-config", "", "flag", "", (), None, "Print what is configured and where, and leave."),
        (
            "since",
            "",
            "value",
            "REF",
            (),
            None,
            "Only findings that are new since this git commit, or whose text has changed.",
        ),
        ("stdin-name", "", "value", "NAME", (), "<stdin>", "What to call standard input in the output."),
        (
            "unsafe-fixes",
            "",
            "flag",
            "",
            (),
            None,
            "With --fix or --diff: also what may change the meaning; read the diff first.",
        ),
        (
            "write-baseline",
            "",
            "value",
            "FILE",
            (),
            None,
            "Write the present findings to FILE, for --baseline.",
        ),
    ),
    (
        ("ds-contract-lint", "Check the contracts of this folder."),
        (
            "ds-contract-lint jobs/*.yaml --output text --output sarif:lint.sarif",
            "Read the findings, and write one SARIF file for code scanning.",
        ),
        (
            "ds-contract-lint --inventory pool.yaml dsandbox.yaml",
            "Also check that the listed devices suffice.",
        ),
        (
            "git show :dsandbox.yaml | ds-contract-lint - --stdin-name dsandbox.yaml",
            "Check what is staged.",
        ),
        ("ds-contract-lint --since origin/main", "See only what a branch brings."),
        (
            "ds-contract-lint --write-baseline lint-baseline.json",
            "Accept what there is, to be strict from now on.",
        ),
        ("ds-contract-lint --diff --unsafe-fixes", "See what could be mended; write it with --fix instead."),
        ("dsec explain DS106", "Read why a rule exists."),
    ),
    (
        (0, "nothing found (with --fix: left), or nothing that --fail-on counts; --diff: nothing to mend"),
        (1, "errors or warnings found (or what --fail-on says); --diff: something would change"),
        (2, "the command line or the configuration is wrong"),
        (3, "a file could not be read or written, or nothing to check was found"),
    ),
)

RULES: Command = (
    "rules",
    "List all lint rules.",
    ("Everything is read from the installed rules; dsec explain CODE prints the page of one.",),
    (),
    (JSON, LANG),
    (
        ("dsec rules", "Print a table: code, severity, fix, name and what it finds."),
        ("dsec rules --json", "Print the same for programs, with group and first version."),
    ),
    ((0, "printed"), USAGE),
)
