"""Seeds: arguments of Steps that are called so, variables, and what Steps told through the SDK."""

from __future__ import annotations

import json
import os

from dsec.containment import read_beneath
from dsec.errors import DSecError
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.planned import plan_of
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

_VARIABLES = ("PYTHONHASHSEED", "SEED", "DSEC_SEED", "PL_GLOBAL_SEED")
_MOST = 1 << 20


def capture(scene: Scene) -> Captured:
    """Collect what is known of them."""
    found = {f"variable {name}": scene.environ[name] for name in _VARIABLES if name in scene.environ}
    found.update(_arguments(scene))
    told = _told(scene)
    if not found and not told:
        return absent("no Step has an argument called seed, and none told its seeds (dsec.sdk.seeds)")
    return present({"stated": found, "told": told})


def _arguments(scene: Scene) -> dict[str, str]:
    """Arguments of calls and variables of Steps that are seeds by their name."""
    try:
        plan = plan_of(scene)
    except DSecError:
        return {}
    found: dict[str, str] = {}
    for step in plan.steps if plan is not None else ():
        args = getattr(step.command, "args", "") or "{}"
        try:
            named = json.loads(args) if isinstance(args, str) else dict(args)
        except (ValueError, TypeError):
            named = {}
        pairs = [*named.items(), *step.env] if isinstance(named, dict) else list(step.env)
        found.update(
            (f"Step {step.id} {name}", str(value)) for name, value in pairs if "seed" in name.lower()
        )
    return found


def _told(scene: Scene) -> dict[str, Plain]:
    """What Steps wrote by `dsec.sdk.seeds`: by Step, the newest."""
    folder = f"{scene.run.path}/seeds" if scene.run is not None else ""
    found: dict[str, Plain] = {}
    try:
        names = sorted(os.listdir(folder)) if folder else []
    except OSError:
        return {}
    for name in names:
        if not name.endswith(".json"):
            continue
        try:
            document = json.loads(read_beneath(folder, name, most=_MOST))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict):
            found[name.removesuffix(".json")] = {str(key): str(value) for key, value in document.items()}
    return found


def compare(pair: Pair) -> Iterator[Difference]:
    """By name."""
    if ABSENT in (pair.before.status, pair.after.status) or pair.live:
        return
    before, after = (_flat(side.data) for side in (pair.before, pair.after))
    for name in sorted({*before, *after}):
        one, two = before.get(name), after.get(name)
        if one != two:
            kind = "added" if one is None else "removed" if two is None else "changed"
            yield Difference("seeds", kind, name, one or "", two or "", 99, "random numbers begin elsewhere")


def _flat(data: Plain) -> dict[str, str]:
    told = {f"{step} {name}": value for step, named in data["told"].items() for name, value in named.items()}
    return {**data["stated"], **told}


PART = Part("seeds", "seeds", 85, capture, compare)
