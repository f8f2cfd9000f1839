"""What common agent tools and client libraries do, as data: who they call, which keys and files they need."""

from __future__ import annotations

from dsec_cli.code.knowledge.entry import Entry, EnvName, FileUse
from dsec_cli.code.knowledge.form import NotKnowledgeError, parse, trusted
from dsec_cli.code.knowledge.table import Knowledge, lookup, merge, named, search, tabulate

__all__ = [
    "Entry",
    "EnvName",
    "FileUse",
    "Knowledge",
    "NotKnowledgeError",
    "lookup",
    "merge",
    "named",
    "parse",
    "search",
    "tabulate",
    "trusted",
]
