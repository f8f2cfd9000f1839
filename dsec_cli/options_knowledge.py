"""Grammar of `dsec knowledge`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

KNOWLEDGE: Command = (
    "knowledge",
    "Say what is known of an agent tool or a client library.",
    (
        "Shows whom it calls, which variables and files it needs and what it may do. WORD is a name as code "
        "writes it (openai.OpenAI), or a part of any text: a tool, a host, a variable. Without WORD all "
        "entries are listed.",
        "Your own entries are read from ~/.ds/knowledge.json and from .dsec/knowledge.json in this folder, "
        "and go before those that DSec ships.",
    ),
    (("WORD", "maybe", (), "Name of a tool or module, or a part of what is known of it."),),
    (
        JSON,
        LANG,
    ),
    (
        ("dsec knowledge SerperDevTool", "Show one entry, or those that match."),
        ("dsec knowledge OPENAI_API_KEY", "Who reads this variable?"),
        ("dsec knowledge --json", "Print everything, in the form of a knowledge file."),
    ),
    (
        (0, "shown"),
        (1, "nothing is known of WORD"),
        USAGE,
        (3, "a knowledge file of yours could not be read"),
    ),
)
