"""Every golden case whose findings can be mended: what becomes of it, and that its rule is content then.

Beside a case lies `<case>.fixed`, the text with all fixes of its rule applied; `DSEC_BLESS=1` rewrites it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli.diagnostics import Diagnostic
from dsec_cli.lint.fix import Outcome, fixed
from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lint"
TOGETHER = ("all", "seeds")
CASES = sorted(path for path in GOLDEN.glob("*/*.yaml") if path.parent.name not in TOGETHER)
WHOLE = sorted((GOLDEN / "all").glob("*.yaml"))
NOT_MENDED = {
    ("input-nobody-writes", "misspelt-and-undeclared"): "it would bring DS503",
    ("odd-character", "spaces-as-indent"): "the rest of the document would read differently",
    ("unknown-step", "needs-carried-communication"): "it would bring DS503",
}
"""Cases of which a fix is taken back, and why."""


def _id(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def mended(path: Path, cases, *, code: str = "", unsafe: bool = True) -> Outcome:  # type: ignore[no-untyped-def]
    """The case after all fixes of one rule, or of all; every rule watches for new errors."""

    def one_rule(text: SourceText) -> list[Diagnostic]:
        found = cases.run(text.data)
        return [one if code in ("", one.code) else one._replace(fixes=()) for one in found]

    data = path.read_bytes()
    name = cases.surroundings(data.decode("utf-8", "replace"))[0]
    return fixed(SourceText(name, data), one_rule, unsafe=unsafe)


@pytest.mark.parametrize("path", CASES, ids=_id)
def test_what_becomes_of_a_golden_case(path: Path, cases) -> None:  # type: ignore[no-untyped-def]
    rule = cases.rule(path.parent.name)
    outcome = mended(path, cases, code=rule.code)
    golden = path.with_suffix(".fixed")
    if os.environ.get("DSEC_BLESS") == "1" and outcome.mended:
        golden.write_bytes(outcome.text.data)
    if not outcome.mended:
        assert not golden.exists()
        assert outcome.text.data == path.read_bytes()
    else:
        assert golden.read_bytes() == outcome.text.data, "DSEC_BLESS=1 rewrites"
    left = [one for one in cases.run(outcome.text.data, rules=(rule,)) if one.fixes]
    assert len(left) <= len(outcome.kept), cases.show(tuple(left))
    again = fixed(outcome.text, lambda text: list(cases.run(text.data, rules=(rule,))), unsafe=True)
    assert again.text.data == outcome.text.data or outcome.kept
    why = NOT_MENDED.get((path.parent.name, path.stem), "")
    assert bool(why) == bool(outcome.kept), outcome.kept
    assert all(why in one.why for one in outcome.kept), outcome.kept


@pytest.mark.battery
@pytest.mark.parametrize("path", CASES + WHOLE, ids=_id)
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_all_fixes_together(path: Path, unsafe: bool, cases) -> None:  # type: ignore[no-untyped-def]
    before = cases.run(path.read_bytes())
    outcome = mended(path, cases, unsafe=unsafe)
    after = cases.run(outcome.text.data)

    def errors(found: tuple[Diagnostic, ...]) -> set[tuple[str, str]]:
        return {(one.code, str(one.message)) for one in found if one.severity.value == "error"}

    assert errors(after) <= errors(before)
    assert len(after) <= len(before) or not outcome.mended
    again = fixed(outcome.text, lambda text: list(cases.run(text.data)), unsafe=unsafe)
    assert (again.text.data, again.mended) == (outcome.text.data, ())


def test_goldens_belong_to_cases() -> None:
    assert {path.with_suffix(".yaml") for path in GOLDEN.glob("*/*.fixed")} <= set(CASES)


SAMPLES = [path for path in CASES + WHOLE if path.stat().st_size < 3000]


@pytest.mark.battery
@given(st.sampled_from(SAMPLES), st.data())
@settings(max_examples=40)
def test_any_text_can_be_mended_and_once_is_enough(path: Path, data: st.DataObject) -> None:
    raw = path.read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        to = data.draw(st.integers(at, min(len(raw), at + 30)))
        other = data.draw(st.sampled_from(SAMPLES)).read_bytes()
        cut = data.draw(st.integers(0, len(other)))
        piece = data.draw(
            st.sampled_from(
                [b"", other[cut : cut + 60], b"\n", b"# c\n", b"&a ", b"*a", b"\t", b"\xff", b"  "]
            )
        )
        raw = raw[:at] + piece + raw[to:]
    text = SourceText("dsandbox.yaml" if b"baseline" in raw else "ds_config.yaml", raw)
    outcome = fixed(text, lint, unsafe=True)
    again = fixed(outcome.text, lint, unsafe=True)
    if not any("after 8 rounds" in one.why for one in outcome.kept):
        assert (again.text.data, again.mended) == (outcome.text.data, ())
    old, new = parse(text), parse(outcome.text)
    gone = {comment for one in outcome.mended for comment in one.comments}
    about_comments = {"DS005", "DS901", "DS902", "DS904"} & {one.code for one in outcome.mended}
    if not about_comments:
        left = [one.text.rstrip() for one in old.comments if one.text.rstrip() not in gone]
        assert [one.text.rstrip() for one in new.comments if one.text.rstrip() not in gone] == left
    assert len(new.problems) <= len(old.problems)
