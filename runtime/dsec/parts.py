"""The parts of a Step that is split over devices: what they are told, and where each writes."""

from __future__ import annotations

INDEX, COUNT, LAYERS = "DSEC_SPLIT_INDEX", "DSEC_SPLIT_COUNT", "DSEC_SPLIT_LAYERS"
"""Environment of a part: its number from 0, how many there are, and its layers as FIRST-LAST."""


def told(index: int, count: int, layers: tuple[int, int]) -> dict[str, str]:
    """The variables of one part; `layers` are its first and its last."""
    return {INDEX: str(index), COUNT: str(count), LAYERS: f"{layers[0]}-{layers[1]}"}


def layers_of(text: str) -> tuple[int, int] | None:
    """`0-5` as its two ends; None for the empty text of a Step that is whole."""
    if not text:
        return None
    first, _, last = text.partition("-")
    return int(first), int(last)


def part_path(path: str, index: int) -> str:
    """Where a part writes what the whole Step would write to `path`: `grads.npz` is `grads.part0.npz`."""
    folder, slash, name = path.rstrip("/").rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    end = "/" if path.endswith("/") else ""
    return f"{folder}{slash}{stem}.part{index}{dot}{extension}{end}"
