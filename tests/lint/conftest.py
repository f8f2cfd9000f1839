"""Golden cases of the linter: how one is read, run, shown and blessed.

A case is a YAML file. Comments in its first lines say what surrounds it:

    # ds_config.yaml                               the name under which it is linted
    # inventory: 4 x a100-pcie-40gb; cpu 8; memory 64Gi    the machines it is judged against
    # installed: torch 2.1.0                       and other packages: see `package_cases`
    # code: import os; os.environ["KEY"]           the agent's code, on one line
    # project: shell-agent                         the agent's code, a folder of tests/code/projects
"""

from __future__ import annotations

import difflib
import functools
import os
from pathlib import Path

import pytest

from dsec import cards
from dsec.inventory import Device, Inventory
from dsec.units import Bytes, parse
from dsec_cli.code.analyse import analyse
from dsec_cli.code.needs import Needs
from dsec_cli.code.project import Project
from dsec_cli.diagnostics import Diagnostic
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Beside, Rule, Surroundings, find_rules
from dsec_cli.source.text import SourceText

from . import package_cases

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lint"
TODAY = "2026-11-29"
PROJECTS = Path(__file__).resolve().parents[1] / "code" / "projects"
DEFAULT_NAME = "dsandbox.yaml"

FOUR = {
    "baseline": "baseline:\n  gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}\n",
    "elasticity": "elasticity:\n  gpu: {min_count: 2, max_count: 4}\n",
    "fault_tolerance": "fault_tolerance:\n  level: critical\n  checkpoint_grace_period: 30s\n",
    "dependencies": "dependencies: []\n",
}


def inventory(spec: str) -> Inventory:
    """`4 x a100-pcie-40gb, 1 x rtx-4090; cpu 8; memory 64Gi` as a described inventory."""
    gpus, *rest = [part.strip() for part in spec.split(";")]
    host = dict(part.split(" ") for part in rest)
    devices: list[Device] = []
    for group in filter(None, (part.strip() for part in gpus.split(","))):
        count, _, kind = group.partition(" x ")
        card = cards.card(kind)
        assert card is not None, f"{kind} is not in the card table"
        for _ in range(int(count)):
            at = len(devices)
            devices.append(
                Device(
                    uuid=f"GPU-{at:04d}",
                    index=at,
                    model=card.names[0],
                    type=kind,
                    memory_bytes=cards.total_bytes(card),
                    free_bytes=None,
                    numa=None,
                    pci=None,
                    links=(),
                    speed=1000,
                    health="ok",
                )
            )
    return Inventory(
        origin="described:test",
        cpu_m=1000 * int(host.get("cpu", "64")),
        memory_bytes=int(parse(Bytes, host.get("memory", "512Gi"))),
        disk_bytes=None,
        numa_nodes=None,
        devices=tuple(devices),
        notes=(),
    )


@functools.cache
def _needs(kind: str, said: str) -> Needs:
    """Needs of one line of Python, or of a folder of `tests/code/projects`."""
    if kind == "code":
        return analyse(Project({"agent.py": SourceText.from_bytes("agent.py", said.encode())}))
    folder = PROJECTS / said
    assert folder.is_dir(), f"{folder} is no folder"
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py"))}
    return analyse(Project({name: SourceText.from_bytes(name, data) for name, data in files.items()}))


class Cases:
    """What the tests of goldens, seeds and pages share."""

    golden = GOLDEN
    inventory = staticmethod(inventory)

    def surroundings(self, text: str) -> tuple[str, Inventory | None]:
        """File name and inventory that the first comment lines of a case ask for."""
        name, machines = DEFAULT_NAME, None
        for line in text.splitlines()[:4]:
            said = line.removeprefix("#").strip()
            if line.startswith("#") and said.endswith((".yaml", ".yml")) and " " not in said:
                name = said
            if line.startswith("#") and said.startswith("inventory:"):
                machines = inventory(said.removeprefix("inventory:").strip())
        return name, machines

    def code(self, text: str) -> object:
        """What the code needs that the first comment lines give, or name by its folder."""
        for line in text.splitlines()[:4]:
            kind, _, said = line.removeprefix("#").strip().partition(": ")
            if line.startswith("#") and kind in ("code", "project"):
                return _needs(kind, said)
        return None

    def beside(self, text: str) -> Beside | None:
        """The root keys of a `ds_config.yaml` that `# beside: steps iterations` gives the case."""
        for line in text.splitlines()[:4]:
            if line.startswith("# beside: "):
                return Beside("ds_config.yaml", frozenset(line.removeprefix("# beside: ").split()))
        return None

    def run(
        self, data: bytes | str, *, rules: tuple[Rule, ...] | None = None, name: str | None = None
    ) -> tuple[Diagnostic, ...]:
        """Lint a case under its own surroundings."""
        data = data.encode() if isinstance(data, str) else data
        text = data.decode("utf-8", "replace")
        said, machines = self.surroundings(text)
        return lint(
            SourceText.from_bytes(name or said, data),
            around=Surroundings(
                inventory=machines,
                today=TODAY,
                needs=self.code(text),
                packages=package_cases.held(text),
                beside=self.beside(text),
            ),
            rules=rules,
        )

    def completed(self, fragment: str) -> str:
        """A fragment of a contract, with standard dimensions in place of the missing ones.

        An example that names its file is complete as it stands.
        """
        if self.surroundings(fragment)[0] != DEFAULT_NAME or fragment.startswith(f"# {DEFAULT_NAME}"):
            return fragment
        return fragment + "".join(
            section for key, section in FOUR.items() if f"\n{key}:" not in f"\n{fragment}"
        )

    def show(self, diagnostics: tuple[Diagnostic, ...]) -> str:
        """Diagnostics as a golden file has them."""
        return "\n".join(_shown(one) for one in diagnostics)

    def compare(self, case: Path, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Hold what was found against the `.out` beside the case; `DSEC_BLESS=1` rewrites it."""
        golden, got = case.with_suffix(".out"), self.show(diagnostics)
        if os.environ.get("DSEC_BLESS") == "1":
            golden.write_text(got, "utf-8")
        want = golden.read_text("utf-8") if golden.exists() else ""
        if got != want:
            lines = difflib.unified_diff(
                want.splitlines(), got.splitlines(), "expected", "found", lineterm=""
            )
            pytest.fail(f"{case.name}: findings differ (DSEC_BLESS=1 rewrites)\n" + "\n".join(lines))

    def rule(self, name: str) -> Rule:
        """The rule of that name."""
        return next(rule for rule in find_rules() if rule.name == name)


def _shown(one: Diagnostic) -> str:
    lines = [
        f"{_range(one.place)} {one.code} {one.severity.value} {one.path or '-'}",
        f"    {one.message}",
    ]
    lines += [f"    why: {one.reason}"] if one.reason else []
    lines += [f"    help: {one.help}"] if one.help else []
    lines += [f"    see: {_range(place)} {label}" for place, label in one.related]
    for fix in one.fixes:
        lines += [f"    fix: {at.start}-{at.end} -> {new!r}{_risk(fix)}" for at, new in fix.edits]
    return "\n".join(lines) + "\n"


def _risk(fix) -> str:  # type: ignore[no-untyped-def]
    return "" if fix.safe else " (unsafe)"


def _range(place) -> str:  # type: ignore[no-untyped-def]
    return f"{place.start.line}:{place.start.column}-{place.end.line}:{place.end.column}"


@pytest.fixture(scope="session")
def cases() -> Cases:
    return Cases()
