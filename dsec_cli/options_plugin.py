"""Grammar of the commands about plugins; see `options`."""

from __future__ import annotations

from dsec_cli.options_plugin_package import CALL, INSTALL, KEYGEN, LIST, REMOVE, SIGN, TRUST, VERIFY
from dsec_cli.options_shared import LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

PLUGIN_SCAN: Command = (
    "plugin scan",
    "Say what a plugin's binary can do, and what cannot be seen of it.",
    (
        "Reads a shared object without running it: its system calls through the libc that is here, the "
        "permissions that its own code asks for with the way that leads to each, what hides from the scan, "
        "and how it was hardened. Libraries that it brings along ($ORIGIN) are scanned with it. The file is "
        "read in a process of its own with limits by its size.",
        "A plugin.yaml beside the file, or --plugin-yaml, says what it declares: what is used but not "
        "declared is an error, and allow_unknown accounts for what cannot be seen. It takes a disassembler "
        "(pip install 'dsec[scan]'); without one only the file's tables are read, and the report says so.",
    ),
    (("FILE", "one", (), "The plugin: a 64-bit ELF shared object (.so), or a program."),),
    (
        (
            "decoder",
            "",
            "value",
            "NAME",
            ("auto", "iced-x86", "capstone", "none"),
            "auto",
            "Which disassembler to use; none: read the tables of the file only.",
        ),
        (
            "diff",
            "",
            "value",
            "OLD",
            (),
            None,
            "Say what FILE can do that OLD could not: a .so, or a report in JSON; 1 where it is more.",
        ),
        (
            "emit",
            "",
            "value",
            "WHAT",
            ("seccomp-json", "contract"),
            None,
            "Print what would enforce it, not a report.",
        ),
        (
            "exact-mb",
            "",
            "int",
            "MB",
            (),
            64,
            "Decode files up to this size instruction by instruction, larger ones by candidates.",
        ),
        (
            "format",
            "",
            "value",
            "FORMAT",
            ("text", "json", "sarif"),
            "text",
            "How to print the report.",
        ),
        (
            "full",
            "",
            "flag",
            "",
            (),
            None,
            "Print the text whole: every finding, every function of each way.",
        ),
        LANG,
        ("libc", "", "value", "FILE", (), None, "The libc that the plugin will run with, if not sysroot's."),
        ("no-cache", "", "flag", "", (), None, "Neither use nor keep maps of the system's libraries."),
        OUTPUT,
        (
            "plugin-yaml",
            "",
            "value",
            "FILE",
            (),
            None,
            "What the plugin declares; default: plugin.yaml beside FILE, if there.",
        ),
        (
            "sysroot",
            "",
            "value",
            "FOLDER",
            (),
            "/",
            "Root of the file system that the plugin will run on: its libc is there.",
        ),
    ),
    (
        ("ds-plugin-scan skill-manager.so", "Report on a plugin."),
        ("ds-plugin-scan skill-manager.so --format sarif -o scan.sarif", "The same for code scanning."),
        ("ds-plugin-scan new.so --diff old.so", "Say what an upgrade can do that the old one could not."),
        ("ds-plugin-scan skill-manager.so --emit seccomp-json", "Print a seccomp profile for it."),
    ),
    (
        (0, "nothing that must not be, and nothing hidden"),
        (1, "something that must not be; with --diff: the new one can do more"),
        USAGE,
        (3, "part of it could not be seen (the report says what), or the file could not be read"),
    ),
)

PLUGINS: tuple[Command, ...] = (CALL, INSTALL, KEYGEN, LIST, REMOVE, PLUGIN_SCAN, SIGN, TRUST, VERIFY)
"""All of them; a new one of `dsec plugin` is a line here."""
