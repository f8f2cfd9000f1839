"""Writes the reference page and the JSON Schema of the knowledge base.

`python -m dsec_cli.code.knowledge.generate` writes, `--check` only says what is stale (exit code 1).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dsec_cli.code.knowledge.form import FIELDS, parse
from dsec_cli.code.knowledge.schema import schema
from dsec_cli.code.knowledge.table import tabulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.knowledge.entry import Entry
    from dsec_cli.code.knowledge.table import Knowledge

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(__file__).parent / "data"
PAGE = "docs/reference/knowledge.md"
SCHEMA = "schemas/knowledge.schema.json"
FRAMEWORKS = {
    "autogen": "AutoGen",
    "crewai": "CrewAI",
    "langchain": "LangChain",
    "llamaindex": "LlamaIndex",
    "mcp": "Model Context Protocol servers",
    "openai": "OpenAI Agents SDK",
    "plain": "Client libraries",
    "smolagents": "smolagents",
}
HEAD = """# The knowledge base

{count} agent tools, toolkits, servers and client libraries: whom they call, which variables and files they
need, what they may do. `dsec knowledge NAME` shows one whole;
[how to add your own](../how-to/knowledge.md).
Everything comes from the linked source. "Read" is the day on which the entry was compared with it, a dash
that it was not; where a tool wraps a client library, its hosts are that library's. What is not known is left
out, and a destination that the name alone does not tell says why.

## An entry

| key | must be there | meaning |
| --- | --- | --- |
{fields}
"""


def outputs() -> dict[str, str]:
    """Every generated file: path from the repository's root to content."""
    return {PAGE: page(shipped()), SCHEMA: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}


def shipped() -> Knowledge:
    """The entries of the data files beside this module."""
    files = sorted(DATA.glob("*.json"))
    return tabulate(entry for path in files for entry in parse(path.read_text("utf-8")).entries)


def page(knowledge: Knowledge) -> str:
    """The reference page, Markdown."""
    fields = "\n".join(
        f"| `{field.key}` | {'yes' if field.required else 'no'} | {_cell(field.meaning)} |"
        for field in FIELDS
    )
    parts = [HEAD.format(count=len(knowledge.entries), fields=fields)]
    for framework, title in sorted(FRAMEWORKS.items(), key=lambda item: item[1].lower()):
        rows = [_row(entry) for entry in knowledge.entries if entry.framework == framework]
        parts.append(
            f"## {title}\n\n| name | does | calls | variables | read |\n| --- | --- | --- | --- | --- |\n"
            + "".join(rows)
        )
    return "\n".join(parts)


def _row(entry: Entry) -> str:
    calls = ", ".join(f"`{host}`" for host in entry.hosts)
    if entry.unknown_egress:
        calls = "; ".join([*([calls] if calls else []), *entry.unknown_egress])
    variables = ", ".join(f"`{one.name}`" for one in entry.env)
    does = f"{entry.function} {entry.notes or ''}".strip()
    cells = (f"[`{entry.name}`]({entry.source})", does, calls or "nobody", variables, entry.checked or "-")
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def stale(root: Path) -> list[str]:
    """Paths whose content on disk is missing or different."""
    return [path for path, text in outputs().items() if _content(root / path) != text]


def _content(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def main(argv: list[str]) -> int:
    """Write stale files, or with `--check` name them and answer 1 when there are any."""
    old = stale(ROOT)
    files = outputs()
    for path in old:
        sys.stdout.write(f"{'stale' if '--check' in argv else 'wrote'} {path}\n")
        if "--check" not in argv:
            (ROOT / path).write_text(files[path], "utf-8")
    return 1 if old and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
