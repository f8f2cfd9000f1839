"""Contracts made by hand, and contracts read from text, for graphs, plans and views."""

from __future__ import annotations

from typing import Any

import pytest

from dsec_cli.contract.build import build_all
from dsec_cli.contract.values import Contract, Demand, Need, Run, Step
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

_NOTHING = Demand((), *[None] * 9)


class Make:
    """Shorthand for values with many fields."""

    def step(self, id_: str, needs: list[str] | None = None, *, at: int = 0, **fields: Any) -> Step:
        """A Step that runs `true`; a need that starts with `~` is carried."""
        path = ("steps", at)
        stated = tuple(
            Need((*path, "needs", k), name.lstrip("~"), name.startswith("~"))
            for k, name in enumerate(needs or [])
        )
        values: dict[str, Any] = dict.fromkeys(Step._fields)
        values |= {"path": path, "id": id_, "kind": "step", "args": "{}", "env": (), "needs": stated}
        values |= {
            "demand": _NOTHING,
            "inputs": (),
            "outputs": (),
            "break_cycle": False,
            "layers": (),
            "because": (),
        }
        values["run"] = Run(("true",), None, None)
        for name in ("inputs", "outputs"):
            files = fields.pop(name, ())
            values[name] = tuple(((*path, name, k), text) for k, text in enumerate(files))
        return Step(**{**values, **fields})

    def contract(self, steps: list[Step], **fields: Any) -> Contract:
        """A contract that states only Steps."""
        values: dict[str, Any] = dict.fromkeys(Contract._fields)
        values |= {"kind": "contract", "document": 0, "steps": tuple(steps), "stated": frozenset()}
        for name in ("dependencies", "env_vars", "mounts", "communication"):
            values[name] = ()
        return Contract(**{**values, **fields})

    def numbered(self, needs: list[list[int]]) -> Contract:
        """Steps S0..Sn, each with the numbers of the Steps it needs."""
        return self.contract(
            [self.step(f"S{i}", [f"S{n}" for n in some], at=i) for i, some in enumerate(needs)]
        )

    def read(self, text: str, name: str = "ds_config.yaml") -> Contract:
        """The contract that a text states, structure faults or not."""
        return build_all(parse(SourceText.from_bytes(name, text.encode())), name)[0].contract


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()
