"""Grammar of the commands that sign, check and install plugins; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command, Option

_PACKAGE: Argument = ("PACKAGE", "one", (), "Folder with plugin.yaml and its files, or a zip of one.")
_CONTRACT: Option = (
    "contract",
    "",
    "value",
    "FILE",
    (),
    None,
    "The contract whose plugins these are; default: the one in this folder.",
)
_KEY: Option = ("key", "", "value", "FILE", (), None, "Secret key; default: ~/.ds/keys/plugin.key.")
_UNREADABLE = (3, "could not find out: a package, a key or the trust file could not be read")

KEYGEN: Command = (
    "plugin keygen",
    "Make a key to sign plugins with.",
    (
        "Writes a secret key that only you can read, and the public one beside it, both in minisign's form. "
        "A key that is there is never overwritten.",
    ),
    (),
    (
        LANG,
        (
            "output",
            "o",
            "value",
            "FILE",
            (),
            None,
            "Where the secret key goes; default: ~/.ds/keys/plugin.key.",
        ),
        (
            "password",
            "",
            "flag",
            "",
            (),
            None,
            "Encrypt it with a password, which is asked for (or taken from DSEC_PLUGIN_PASSWORD).",
        ),
    ),
    (("dsec plugin keygen", "Make your key, once."),),
    ((0, "the key is written"), USAGE, (3, "it is there already, or could not be written")),
)

SIGN: Command = (
    "plugin sign",
    "Write what a plugin's package holds, and sign it.",
    (
        "Writes MANIFEST.json, with name and version of plugin.yaml and size and BLAKE3 of every file, and "
        "MANIFEST.json.minisig, which minisign checks too. Anything that is changed, added or missing "
        "afterwards shows. A plugin.yaml that the linter refuses is not signed.",
    ),
    (("FOLDER", "one", (), "Folder with plugin.yaml and its files."),),
    (
        ("expires", "", "value", "DAY", (), None, "Last day on which it is to be installed (YYYY-MM-DD)."),
        _KEY,
        LANG,
    ),
    (("dsec plugin sign skill-manager", "Sign the plugin in that folder."),),
    (
        (0, "it is signed"),
        (1, "plugin.yaml has errors"),
        USAGE,
        (3, "a file, or the key, could not be read or written"),
    ),
)

VERIFY: Command = (
    "plugin verify",
    "Say who signed a plugin, and whether anything was changed since.",
    (
        "One of: trusted, unknown-key, bad (signature), modified, unsigned, expired, rollback (a newer "
        "version is installed). Nothing of the plugin is run.",
    ),
    (_PACKAGE,),
    (
        _CONTRACT,
        JSON,
        LANG,
    ),
    (("dsec plugin verify skill-manager.zip", "Check a plugin that came in a zip."),),
    ((0, "trusted"), (1, "anything else"), USAGE, _UNREADABLE),
)

TRUST: Command = (
    "plugin trust",
    "Say whose plugins you trust, and with what.",
    ("Without KEY the keys that you trust are listed. They are kept in ~/.ds/keys/trusted.json.",),
    (("KEY", "maybe", (), "Public key (RW...), or a file with one."),),
    (
        JSON,
        LANG,
        ("name", "", "value", "NAME", (), None, "What you call its owner."),
        (
            "permissions",
            "",
            "multi",
            "PATTERN",
            (),
            None,
            "Permissions that those may have (read:*); default: all. May be repeated.",
        ),
        (
            "plugins",
            "",
            "multi",
            "PATTERN",
            (),
            None,
            "Plugins that it may sign (skill-*); default: all. May be repeated.",
        ),
        ("remove", "", "value", "NAME", (), None, "Trust this owner no longer."),
    ),
    (
        ("dsec plugin trust alice.pub --name alice --plugins 'skill-*'", "Trust alice with some plugins."),
        ("dsec plugin trust --remove alice", "Trust her no longer."),
    ),
    ((0, "done"), (1, "there is no such owner"), USAGE, _UNREADABLE),
)

INSTALL: Command = (
    "plugin install",
    "Check a plugin, install it, and merge what it needs into the contract.",
    (
        "In this order: plugin.yaml, signature, hashes of all files, schema, the merged contract, scan of "
        "the binary against what it declares. The first that fails stops it, and what was installed before "
        "stays in use. The change of the contract is printed, and made only if the linter finds no new "
        "error in it.",
    ),
    (_PACKAGE,),
    (
        (
            "allow-incomplete",
            "",
            "flag",
            "",
            (),
            None,
            "Take it though a part of its binary cannot be seen.",
        ),
        ("allow-rollback", "", "flag", "", (), None, "Take it though a newer version is installed."),
        ("allow-unsigned", "", "flag", "", (), None, "Take it without a signature of a key that you trust."),
        _CONTRACT,
        ("dry-run", "", "flag", "", (), None, "Check everything, install nothing."),
        LANG,
        ("no-merge", "", "flag", "", (), None, "Leave the contract alone."),
    ),
    (("dsec plugin install skill-manager.zip", "Install a plugin for the contract of this folder."),),
    (
        (0, "it is installed"),
        (1, "it is refused: its signature, what its binary does, or the merged contract"),
        USAGE,
        (3, "a file could not be read or written, or a part of the binary cannot be seen"),
    ),
)

LIST: Command = (
    "plugin list",
    "List the plugins that are installed.",
    ("With the version in use, others that are there, and who signed it.",),
    (),
    (
        _CONTRACT,
        JSON,
        LANG,
    ),
    (("dsec plugin list", "List this folder's plugins."),),
    ((0, "listed"), USAGE, _UNREADABLE),
)

REMOVE: Command = (
    "plugin remove",
    "Take a plugin away, with all its versions.",
    ("Says what of the contract still names it; the contract is left alone.",),
    (("NAME", "one", (), "Name of the plugin."),),
    (
        _CONTRACT,
        LANG,
    ),
    (("dsec plugin remove skill-manager", "Remove it."),),
    ((0, "removed"), (1, "it is not installed"), USAGE, _UNREADABLE),
)

CALL: Command = (
    "plugin call",
    "Run an installed plugin on a document, in a sandbox of its own.",
    (
        "The plugin lives in a process that can make the system calls of its scan and reach the files of its "
        "permissions, and nothing else; one that does more is killed. The input and what it answers are JSON "
        "and must be as its schema.json says. A Step of a contract that runs a plugin is a Step with this "
        "command.",
    ),
    (("NAME", "one", (), "Name of the plugin."),),
    (
        _CONTRACT,
        (
            "cpu",
            "",
            "int",
            "SECONDS",
            (),
            60,
            "Processor time that all calls may take together; 0: no limit.",
        ),
        ("input", "", "value", "FILE", (), None, "The document; default: standard input."),
        LANG,
        ("lines", "", "flag", "", (), None, "Every line of the input is a document of its own."),
        (
            "memory",
            "",
            "value",
            "SIZE",
            (),
            None,
            "Memory that it may take; default: 1Gi, or twice what its plugin.yaml names; 0: no limit.",
        ),
        (
            "no-landlock",
            "",
            "flag",
            "",
            (),
            None,
            "Run it though this kernel cannot keep it from files.",
        ),
        ("output", "o", "value", "FILE", (), None, "Where the answer goes; default: standard output."),
        ("timeout", "", "int", "SECONDS", (), None, "Longest that one answer may take; default: no limit."),
    ),
    (("dsec plugin call word-count --input in.json", "Run a plugin on a document."),),
    (
        (0, "it answered"),
        (1, "it failed, was killed, took too long, or its input or answer is not as its schema says"),
        USAGE,
        (3, "it is not installed, was changed since, or cannot be isolated here"),
    ),
)
