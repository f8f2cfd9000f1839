"""A rule that is not asked would have found nothing; the index says of every rule what its file says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from generating.jobs import documents
from generating.writing import written
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Diagnostic
from dsec_cli.lint.linter import Linter
from dsec_cli.lint.register import imported, known_rules
from dsec_cli.lint.rule import NOTHING, Surroundings, find_rules
from dsec_cli.lint.suspects import SECRETS, has_two_readings
from dsec_cli.source.secrets import _PARTS, SHAPES
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

from . import package_cases
from .conftest import GOLDEN, TODAY

RULES = find_rules()
SOME = Linter(known_rules(), known_rules())
"""Asks the rules for which there is occasion."""
ALL = Linter(known_rules(), tuple(rule._replace(when=()) for rule in RULES))
GOLDENS = sorted(GOLDEN.rglob("*.yaml"))
TEXTS = [(name, written(values)) for name, values in documents(200)]
SMALL = (Path(__file__).resolve().parents[2] / "benchmarks" / "small.yaml").read_text()
MUTANTS = 3
WORDS = (
    *("no", "ON", "010", "1:30", "1_000", "0o7", "+012", "1.2", "version: 1.0", "&a x", "*a", "<<: *a"),
    *("timeout: 0s", "- id: S1", "needs: [S1]", "needs: [{step: a, carried: true}]", "level: pauseable"),
    *("count: 9", "latency_cap: 1ms", "nvlink_mode: off", "MASTER_PORT: 29500", "hf_abcdefghijklmnop"),
    *("# dsec: ignore[DS101] so", "api_key: s3cr3t-v4lu3-0f-m1ne", "password: x1", "outputs: [a]"),
)


def found(linter: Linter, name: str, data: bytes, around: Surroundings = NOTHING) -> tuple[Diagnostic, ...]:
    return linter.all(SourceText.from_bytes(name, data), around)


def check(name: str, data: bytes, around: Surroundings = NOTHING) -> None:
    some, every = (found(linter, name, data, around) for linter in (SOME, ALL))
    assert some == every, f"only when all are asked: {[one.code for one in every if one not in some]}"


@pytest.mark.battery
@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_goldens_and_their_mutants_lose_no_finding(path: Path, cases) -> None:
    data = path.read_bytes()
    text = data.decode("utf-8", "replace")
    name, machines = cases.surroundings(text)
    around = Surroundings(
        inventory=machines, today=TODAY, needs=cases.code(text), packages=package_cases.held(text)
    )
    check(name, data, around)
    for seed in range(MUTANTS):
        check(name, mutated(text, random.Random(f"{path.name} {seed}")).encode(), NOTHING)


@pytest.mark.parametrize("at", range(0, len(TEXTS), 4))
def test_the_corpus_and_its_mutants_lose_no_finding(at: int) -> None:
    for name, text in TEXTS[at : at + 4]:
        check(name, text.encode())
        check(name, mutated(text, random.Random(at)).encode())


def mutated(text: str, chance: random.Random) -> str:
    """The text with a few lines gone, doubled, moved, cut short or with a word that some rule looks for."""
    lines = text.splitlines(keepends=True) or [""]
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                lines[at] = ""
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines.append(lines[at])
            case 3:
                lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
            case 4:
                key, colon, _ = lines[at].partition(":")
                lines[at] = f"{key}{colon} {chance.choice(WORDS)}\n"
            case _:
                indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
                lines.insert(at, f"{indent}{chance.choice(WORDS)}\n")
    return "".join(lines)


@pytest.mark.battery
@given(st.lists(st.sampled_from(WORDS), max_size=3), st.randoms(use_true_random=False))
def test_words_strewn_into_a_contract_lose_no_finding(words: list[str], chance: random.Random) -> None:
    lines = SMALL.splitlines(keepends=True)
    for word in words:
        at = chance.randrange(len(lines))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, f"{indent}{word}\n")
    check("dsandbox.yaml", "".join(lines).encode())


def test_a_plain_contract_asks_few_rules() -> None:
    asked: list[str] = []

    def watch(rule, ask):
        asked.append(rule.code)
        return ask()

    linter = Linter(known_rules(), known_rules(), watch=watch)
    assert {one.code for one in found(linter, "dsandbox.yaml", SMALL.encode())} <= {"DS116"}
    assert len(asked) < len(RULES) / 3, asked


def test_a_rule_that_names_no_occasion_is_always_asked() -> None:
    asked: list[str] = []
    [rule] = [rule for rule in RULES if rule.code == "DS203"]
    own = rule._replace(when=(), check=lambda facts: asked.append(facts.file_name) or ())
    assert found(Linter((own,), (own,)), "dsandbox.yaml", b"") == ()
    assert asked == ["dsandbox.yaml"]


def test_the_index_says_what_the_files_say() -> None:
    assert tuple(rule._replace(check=None) for rule in known_rules()) == tuple(
        rule._replace(check=None) for rule in RULES
    )
    assert tuple(imported(rule) for rule in known_rules()) == RULES


def test_every_sign_of_a_secret_is_looked_for() -> None:
    for sign in (*_PARTS, *(shape.prefix for shape in SHAPES)):
        assert any(one in sign.lower() for one in SECRETS), sign


@pytest.mark.parametrize("word", ["no", "Yes", "010", "+010", "0o17", "1:30", "1_0", "-0b1", "190:20:30"])
def test_a_word_of_two_readings_is_noticed_outside_comments_only(word: str) -> None:
    for text in (f"a: {word}\n", f"- {word}", f"a: [b,{word}]\n", f"# {word}\na:\n  {word} # {word}\n"):
        assert has_two_readings(text, parse(SourceText.from_bytes("a", text.encode())).comments), text


def test_small_words_in_comments_are_no_suspects() -> None:
    text = "# on and off, no end\na: b # no, yes\n#no\nc: 10\nd: 1.5\n"
    assert not has_two_readings(text, parse(SourceText.from_bytes("a", text.encode())).comments)
