"""Grammar of the commands about packages of snapshots and their keys; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command

FILE: Argument = ("FILE", "one", (), "A package: a file that snapshot export wrote.")

AUDIT: Command = (
    "snapshot audit",
    "Open the audit log of a package that was sealed for you.",
    (
        "The log says what was captured, which secrets were left out, which variables were set, what was "
        "mounted and which Steps ran; each line is bound to the one before, and that is checked. Those who "
        "exported the package or were named with --recipient can open it.",
    ),
    (FILE,),
    (LANG, OUTPUT),
    (("dsec snapshot audit v2.3.dsnap", "What is on record?"),),
    (
        (0, "printed: one JSON document a line"),
        (1, "it is sealed for others, or not as it was written"),
        USAGE,
        (3, "the file is not there, or no package"),
    ),
)

EXPORT: Command = (
    "snapshot export",
    "Write a snapshot as one signed file.",
    (
        "In it is all that the snapshot holds, and beside that code_manifest.json, deps_fingerprint.bin, "
        "gpu_layout.dot and audit_log.enc. It is signed with your key, which is made on first use; the same "
        "snapshot gives the same file.",
        "Nobody but you and those who are named with --recipient can open the audit log.",
    ),
    (("NAME", "one", (), "Name of a snapshot, the beginning of its id, or @latest."),),
    (
        JSON,
        LANG,
        ("output", "o", "value", "FILE", (), None, "Where to; default: NAME.dsnap."),
        (
            "recipient",
            "",
            "multi",
            "KEY",
            (),
            None,
            "Seal the audit log for the holder of this key of age (age1...), too.",
        ),
        ("unsigned", "", "flag", "", (), None, "Do not sign it."),
    ),
    (
        ("dsec snapshot export v2.3", "A file to be sent on: v2.3.dsnap."),
        ("dsec snapshot export v2.3 -o run.dsnap", "With another name."),
    ),
    ((0, "written"), USAGE, (3, "there is no such snapshot, or the file could not be written")),
)

IMPORT: Command = (
    "snapshot import",
    "Take a snapshot in from a file that someone exported.",
    (
        "All of it is checked before anything is kept. A package of someone whose key you do not know yet is "
        "taken in with --trust only; from then on you trust that key.",
    ),
    (FILE,),
    (
        JSON,
        LANG,
        (
            "most",
            "",
            "value",
            "SIZE",
            (),
            None,
            "The most that its files may come to (default: 100 times the package, at least 256MiB).",
        ),
        ("name", "", "value", "NAME", (), None, "Call it so; default: what it was called."),
        (
            "trust",
            "",
            "flag",
            "",
            (),
            None,
            "Trust the key of who signed it, from now on; take an unsigned one in as it is.",
        ),
    ),
    (
        ("dsec snapshot import v2.3.dsnap", "Of someone you trust, or your own."),
        ("dsec snapshot import v2.3.dsnap --trust", "Of someone new."),
    ),
    (
        (0, "taken in, or there already"),
        (1, "it is not signed by someone you trust, or damaged"),
        USAGE,
        (3, "the file is not there, no package, or the store could not be written"),
    ),
)

KEYS: Command = (
    "snapshot keys",
    "Print your keys, and those that you trust.",
    (
        "A signature says that a package is as its signer wrote it. Who that is, the key alone does not say: "
        "compare it over another way before you trust it.",
    ),
    (),
    (JSON, LANG),
    (("dsec snapshot keys", "What to send to those who are to trust you, or to seal for you."),),
    ((0, "printed"), USAGE, (3, "a key could not be read or made")),
)

PACKAGE_COMMANDS: tuple[Command, ...] = (AUDIT, EXPORT, IMPORT, KEYS)
