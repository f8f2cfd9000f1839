"""Opens a contract: its file, `ds_config.yaml` beside it, and the way back from paths to places."""

from __future__ import annotations

import os

from dsec.plan import Source
from dsec.record import Record
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.sources import read_source, steps_beside
from dsec_cli.contract.build import build_text
from dsec_cli.diagnostics import Place, concretise
from dsec_cli.lint.rule import Beside
from dsec_cli.source.locate import Keys, step_ids
from dsec_cli.source.placing import placing
from dsec_cli.source.text import Span
from dsec_cli.source.tree import with_document
from dsec_cli.source.yaml import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec_cli.contract.build import Built
    from dsec_cli.contract.values import Contract
    from dsec_cli.diagnostics import Diagnostic, Finding
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Document, Path, Tree

_MERGED = (
    *("iterations", "tokens", "shell", "data_source", "bandwidth_cap", "latency_cap", "snapshot_interval"),
    *("max_steps_per_episode", "checkpoint_interval_steps"),
)


class Part(Record):
    """One document that the contract is made of."""

    text: SourceText
    document: Document
    contract: Contract
    structural: tuple[Finding, ...]
    """What building the contract could not accept."""
    reading: tuple[Tree, tuple[Built, ...]]
    """All of the text."""


class Opened(Record):
    """A contract with everything that was merged into it."""

    path: str
    contract: Contract
    parts: tuple[Part, ...]
    """The contract's own document first."""
    owners: Mapping[str, int]
    """Which part a root key comes from."""
    notes: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The contract's folder."""
        return os.path.dirname(self.path) or "."

    def part_of(self, path: Path) -> Part:
        """The document that `path` leads into."""
        return self.parts[self.owners.get(str(path[0]), 0) if path and self.owners else 0]


def open_contract(path: str) -> Opened:
    """Read the contract at `path` and merge in what `ds_config.yaml` beside it adds."""
    if os.path.isdir(path):
        path = contract_here(path)
    own = _part(read_source(path))
    beside = steps_beside(path)
    if beside is None:
        return Opened(path, own.contract, (own,), {}, ())
    extra = _part(read_source(beside))
    added = {key for key in extra.contract.stated if key not in own.contract.stated}
    ignored = sorted(key for key in extra.contract.stated & own.contract.stated if key in _MERGED)
    name = os.path.basename(path)
    notes = tuple(
        f"{key} of {os.path.basename(beside)} is not used: {name} states its own" for key in ignored
    )
    owners = dict.fromkeys(sorted(added), 1)
    return Opened(path, _merged(own.contract, extra.contract, added), (own, extra), owners, notes)


def beside_of(path: str) -> Beside:
    """What a lint of the contract has to know of the `ds_config.yaml` at `path`."""
    return Beside(os.path.basename(path), _part(read_source(path)).contract.stated)


def _part(text: SourceText) -> Part:
    """The document to work on: the first that states Steps, else the first."""
    tree = with_document(parse(text), len(text.text))
    tree, built = build_text(tree, text.text, text.name)
    by_index = {document.index: document for document in tree.documents}
    chosen = next((one for one in built if one.contract.steps), built[0])
    return Part(text, by_index[chosen.contract.document], *chosen, (tree, built))


def _merged(own: Contract, extra: Contract, added: set[str]) -> Contract:
    fields = {key: getattr(extra, key) for key in _MERGED if key in added}
    if "communication" in added:
        fields["communication"] = extra.communication
    steps = tuple(step for step in extra.steps if step.path[0] in added)
    return own._replace(steps=(*own.steps, *steps), stated=own.stated | added, **fields)


def locator(opened: Opened, name_of: Callable[[str], str]) -> Callable[[Path], Source]:
    """From paths to places; `name_of` decides how files are called."""
    places = [
        placing(part.document, part.text.line_starts, name_of(part.text.name), Source._make)
        for part in opened.parts
    ]
    owners = opened.owners
    if not owners:
        return places[0]
    return lambda path: places[owners.get(str(path[0]), 0) if path else 0](path)


NAMES = {
    "DS109": "missing-key",
    "DS210": "demand-no-device-meets",
    "DS501": "unknown-step",
    "DS503": "dependency-cycle",
    "DS504": "break-cycle-breaks-nothing",
    "DS509": "impossible-communication",
    "DS514": "input-nobody-writes",
    "DS530": "script-for-bash",
}
"""The rules whose findings also come from here, once all parts are merged."""


def diagnose(opened: Opened, findings: tuple[Finding, ...]) -> tuple[Diagnostic, ...]:
    """Findings on the merged contract, each in the file that states it."""
    places = _Places(opened)
    return tuple(places.diagnose(finding) for finding in findings)


class _Places:
    """Where findings on the merged contract stand; what is known of each part is found out once."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._known: dict[str, tuple[dict[Path, str], Keys]] = {}

    def diagnose(self, finding: Finding) -> Diagnostic:
        """The finding at its place."""
        related = tuple(
            (
                one.where if isinstance(one.where, Place) else self._placed(one.where, finding).place,
                one.label,
            )
            for one in finding.related
        )
        placed = self._placed(finding.where, finding)
        # Aliases that lead there lie in the file of the finding itself.
        return placed._replace(related=(*placed.related, *related))

    def _placed(self, where: Path | Span, finding: Finding) -> Diagnostic:
        """The finding as if it stood at `where`, without the related places that a rule names.

        They may lie in another file.
        """
        if isinstance(where, Span):
            raise AssertionError("findings on the graph point by path, never by span")
        part = self._opened.part_of(where)
        name = part.text.name
        if name not in self._known:
            self._known[name] = step_ids(part.document), Keys()
        ids, keys = self._known[name]
        return concretise(
            finding._replace(where=where, related=()),
            NAMES[finding.code],
            text=part.text,
            document=part.document,
            ids=ids,
            keys=keys,
        )
