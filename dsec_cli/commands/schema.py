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
    ".dsec.toml": "lint-config",
}
"""Names of files, and the kind of document that they hold."""
OWN = ("knowledge", "lint-config")
"""Files that are no part of the contract language."""


def main(args: Args) -> int:
    """Print one schema, or the table of all."""
    if args.action == "list":
        if args.kind is not None:
            raise UsageError(
                say("list takes no {kind!r}", kind=args.kind), hint=say("write: dsec schema print KIND")
            )
        emit(_table(), args.output)
        return YES
    body = _schema(_kind(args.kind or "contract"))
    emit(json.dumps(body, indent=2, ensure_ascii=False) + "\n", args.output)
    return YES


def _kinds() -> tuple[str, ...]:
    from dsec_cli.contract.generate_schema import FILES

    return (*FILES, *OWN)


def _kind(named: str) -> str:
    name = named.replace("\\", "/").rpartition("/")[2]
    for ending in (".schema.json", ".yaml", ".yml", ".json"):
        name = name.removesuffix(ending)
    kind = ALSO.get(name, name)
    if kind not in _kinds():
        raise UsageError(
            say("there is no kind of document called {named!r}", named=named),
            hint=did_you_mean(name, (*_kinds(), *ALSO)),
        )
    return kind


def _schema(kind: str) -> dict[str, object]:
    if kind == "knowledge":
        from dsec_cli.code.knowledge.schema import schema as of_knowledge

        return of_knowledge()
    if kind == "lint-config":
        from dsec_cli.commands.configuration_keys import schema as of_configuration

        return of_configuration()
    from dsec_cli.contract.generate_schema import schema

    return schema(kind)


def _table() -> str:
    width = max(len(kind) for kind in _kinds())
    rows = []
    for kind in _kinds():
        body = _schema(kind)
        title = str(body["title"]).partition(": ")[2]
        title = title[:1].upper() + title[1:]
        rows.append(f"{kind:<{width}}  {body.get('x-dsec-version', '-'):<5}  {title}\n")
    return "".join(rows)
