"""`dsec schema`: the JSON Schemas of the documents that DSec reads, for editors and other tools."""

from __future__ import annotations

import json

from dsec_cli.exit import YES, UsageError
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

ALSO = {
    "config": "steps",
    "ds_config": "steps",
    "dsandbox": "contract",
    "agent-train-sandbox": "environment",
    "hermes-deploy": "deploy",
}
"""Names of files, and the kind of document that they hold."""


def main(args: Args) -> int:
    """Print one schema, or the table of all."""
    if args.action == "list":
        if args.kind is not None:
            raise UsageError(f"list takes no {args.kind!r}", hint="write: dsec schema print KIND")
        emit(_table(), args.output)
        return YES
    from dsec_cli.contract.generate_schema import schema

    body = schema(_kind(args.kind or "contract"))
    emit(json.dumps(body, indent=2, ensure_ascii=False) + "\n", args.output)
    return YES


def _kind(named: str) -> str:
    from dsec_cli.contract.generate_schema import FILES

    name = named.replace("\\", "/").rpartition("/")[2]
    for ending in (".schema.json", ".yaml", ".yml", ".json"):
        name = name.removesuffix(ending)
    kind = ALSO.get(name, name)
    if kind not in FILES:
        raise UsageError(
            say("there is no kind of document called {named!r}", named=named),
            hint=did_you_mean(name, (*FILES, *ALSO)),
        )
    return kind


def _table() -> str:
    from dsec_cli.contract.generate_schema import FILES, LANGUAGE_VERSION, schema

    width = max(len(kind) for kind in FILES)
    rows = []
    for kind in FILES:
        title = str(schema(kind)["title"]).partition(": ")[2]
        rows.append(f"{kind:<{width}}  {LANGUAGE_VERSION}  {title}\n")
    return "".join(rows)
