"""Did you mean: the same answers as the plain measure, by work that no text can make grow without end."""

from __future__ import annotations

import random

import pytest

from dsec_cli.contract import suggest
from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText


def plain_distance(left: str, right: str) -> int:
    rows = [[i + j if not i or not j else 0 for j in range(len(right) + 1)] for i in range(len(left) + 1)]
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_distance_is_that_of_the_whole_table(most: int) -> None:
    rng = random.Random(7)
    for _ in range(1500):
        left, right = ("".join(rng.choices("abc", k=rng.randrange(9))) for _ in range(2))
        assert suggest.distance(left, right, most=most) == min(plain_distance(left, right), most + 1)


@pytest.mark.parametrize(
    "wrong", ["trian-policy-077", "train-policy-07", "train-policyy-077", "Train_Policy_077"]
)
def test_among_many_alike_a_word_one_edit_away_is_found(wrong: str) -> None:
    legal = tuple(f"train-policy-{number:03}" for number in range(500))
    meant = suggest.nearest(wrong, legal)
    assert meant is not None
    assert meant.word.startswith("train-policy-0")


def test_among_many_words_few_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    whole = suggest.distance
    monkeypatch.setattr(suggest, "distance", lambda *some, **most: compared.append(1) or whole(*some, **most))
    legal = tuple(f"s{'a' * 50}{number:05}" for number in range(3000))
    assert suggest.nearest(f"t{'b' * 50}00000", legal) is None
    assert len(compared) <= suggest.COMPARED


def test_every_unknown_need_is_told_however_many_there_are() -> None:
    steps = "".join(f"  - {{id: s{n:04}, run: x, timeout: 1s, needs: [t{n:04}]}}\n" for n in range(300))
    found = lint(SourceText.from_bytes("ds_config.yaml", f"steps:\n{steps}".encode()))
    assert [one.code for one in found].count("DS501") == 300
