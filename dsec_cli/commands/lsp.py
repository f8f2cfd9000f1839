"""`dsec lsp`: the language server that editors start; it speaks over standard input and output."""

from __future__ import annotations

import sys

from dsec.errors import DSecError
from dsec_cli.exit import YES
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


class NoServerError(DSecError):
    """The library that speaks the protocol is not installed."""


def main(_args: Args) -> int:
    """Serve until the editor says that it leaves, or closes the pipe."""
    try:
        from dsec_cli.commands.lspserver import serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise NoServerError(
            say("the language server needs {name}, which is not installed", name=missing.name),
            hint="pip install 'dsec[lsp]'",
        ) from None
    if sys.stdin.isatty():
        from dsec_cli.exit import UsageError

        raise UsageError("an editor starts the language server", hint="see docs/how-to/editor.md")
    serve()
    return YES
