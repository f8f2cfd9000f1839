"""Grammar of the commands about a contract's form: its layout, and the schemas it must fit; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command, Option

STDIN_NAME: Option = (
    "stdin-name",
    "",
    "value",
    "NAME",
    (),
    "<stdin>",
    "What to call standard input in the output.",
)

FMT: Command = (
    "fmt",
    "Bring contracts into their usual form, with all that they say and every comment kept.",
    (
        "PATHS are files, folders or -, as for dsec lint. Only blanks, line ends, quotes and the "
        "indentation of lists change, by edits in place: nothing is reordered, wrapped or written anew. "
        "What an edit would change in value, type, anchor or comment is taken back.",
        "A file that cannot be read as a whole is left as it is.",
    ),
    (("PATHS", "many", (), "Files, folders or - for standard input."),),
    (
        ("check", "", "flag", "", (), None, "Write nothing; exit 1 when a file would change."),
        ("diff", "", "flag", "", (), None, "Write nothing; print a unified diff, exit 1 when there is one."),
        LANG,
        ("quiet", "q", "flag", "", (), None, "Print no names and no summary."),
        STDIN_NAME,
    ),
    (
        ("dsec fmt", "Format the contracts of this folder."),
        ("dsec fmt --check jobs", "Ask in CI whether the contracts of jobs/ are formatted."),
        ("dsec fmt --diff dsandbox.yaml", "Show what would change."),
    ),
    (
        (0, "formatted, or nothing to do"),
        (1, "with --check or --diff: a file would change"),
        USAGE,
        (3, "a file could not be read or written, or is no YAML"),
    ),
)

SCHEMA: Command = (
    "schema",
    "Print the JSON Schemas of the documents that DSec reads.",
    (
        "For editors and other tools: JSON Schema 2020-12, made of the same models as the checks of dsec "
        "lint. KIND is the kind of document, or the name of its file. The $id of the language's schemas ends "
        "with the version of the contract language, so that two versions can be told apart.",
    ),
    (
        ("ACTION", "one", ("list", "print"), "What to do."),
        ("KIND", "maybe", (), "Kind of document (print), default: contract."),
    ),
    (
        LANG,
        OUTPUT,
    ),
    (
        ("dsec schema list", "List the kinds of documents, the files they stand for and their versions."),
        (
            "dsec schema print contract -o .dsec/dsandbox.schema.json",
            "Store the schema that an editor completes dsandbox.yaml from.",
        ),
        ("dsec schema print ds_config.yaml", "Print the schema of a file by its name."),
    ),
    ((0, "printed"), (2, "there is no such kind of document"), (3, "the file could not be written")),
)
