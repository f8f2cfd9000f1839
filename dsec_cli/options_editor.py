"""Grammar of `dsec lsp`; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

LSP: Command = (
    "lsp",
    "Serve an editor: findings while typing, fixes, completion, hover, go to Step.",
    (
        "Speaks the Language Server Protocol over standard input and output; an editor starts it, for files "
        "of type yaml that are contracts. Findings are those of dsec lint under the same configuration.",
        "Needs the extra lsp: pip install 'dsec[lsp]'.",
    ),
    (),
    (),
    (("dsec lsp", "Serve; the editor's configuration names this command."),),
    ((0, "the editor left"), USAGE, (3, "the protocol's library is not installed")),
)
