"""Secrets of more than sixty kinds are found, and what only looks like them is left alone."""

from __future__ import annotations

import pytest

from dsec_cli.snapshot.redaction import Redactor

from .kit import KEY
from .secretkinds import friends, secrets

SEEDS = (1, 2, 3, 5, 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_is_found(seed: int) -> None:
    rows = secrets(seed)
    assert len({(name, text[:12]) for name, text, _ in rows}) > 60
    missed = []
    for name, text, secret in rows:
        clean, found = Redactor(KEY).file(text.encode(), name)
        if secret.encode() in clean or not found:
            missed.append((name, text))
        elif Redactor(KEY).file(clean, name) != (clean, ()):
            missed.append((name, f"found again: {clean!r}"))
    assert missed == []


@pytest.mark.parametrize("seed", SEEDS)
def test_what_only_looks_like_one_stays(seed: int) -> None:
    rows = friends(seed)
    assert len(rows) > 60
    wrong = [
        (name, found[0].kind, clean[:300])
        for name, text in rows
        for clean, found in [Redactor(KEY).file(text.encode(), name)]
        if found
    ]
    assert wrong == []
