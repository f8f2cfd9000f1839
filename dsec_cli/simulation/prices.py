"""Prices of devices as `--price` takes them: `2.10` for all, `a100=1.80` for a type."""

from __future__ import annotations

from dsec.cards import resolve
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def prices_of(texts: Iterable[str]) -> dict[str, int]:
    """Millionths per device-hour by type; "": every other. Raises UsageError."""
    found: dict[str, int] = {}
    for text in texts:
        kind, sign, amount = text.rpartition("=")
        types = resolve(kind) if sign else ("",)
        whole, _, part = amount.partition(".")
        digits = whole + part
        if not types or not (digits.isascii() and digits.isdigit()) or len(digits) > 12 or len(part) > 6:
            raise UsageError(
                say("--price {text}: neither AMOUNT nor TYPE=AMOUNT", text=text),
                hint="an amount per GPU and hour, such as 2.10 or a100=1.80",
            )
        found.update(dict.fromkeys(types, int(digits) * 10 ** (6 - len(part))))
    return found
