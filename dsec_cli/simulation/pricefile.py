"""Reads a file of prices, as `dsec report --prices` takes it."""

from __future__ import annotations

from dsec.cards import resolve
from dsec.core.settlement import Prices, Tier
from dsec.record import Record
from dsec_cli.simulation.form import Form, span_of
from dsec_cli.source.resolve import follow
from dsec_cli.source.tree import Mapping
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Finding
    from dsec_cli.source.tree import Document, Node

_KEYS = ("currency", "gpu", "cpu", "beyond")
_MILLION = 1_000_000
_MOST_TIERS = 100


class Read(Record):
    """Prices, or what is wrong with their file."""

    prices: Prices | None
    wrong: tuple[Finding, ...]


def read_prices(document: Document) -> Read:
    """The prices that a YAML document states."""
    form = Form()
    root = form.table(document.root, _KEYS, "the prices")
    cpu = root.get("cpu")
    prices = Prices(
        currency=form.text(root.need("currency")),
        gpu=_gpu(form, root.need("gpu")),
        cpu=form.decimal(cpu, _MILLION) if cpu is not None else None,
        tiers=_tiers(form, root.get("beyond")),
    )
    return Read(None if form.wrong else prices, tuple(form.wrong))


def _gpu(form: Form, node: Node | None) -> dict[str, int]:
    """By type; "" is every other one, which a single number is, too."""
    solid = follow(node)
    if not isinstance(solid, Mapping):
        amount = form.decimal(node, _MILLION) if node is not None else None
        return {} if amount is None else {"": amount}
    keys = [getattr(entry.key, "text", "") for entry in solid.entries]
    row = form.table(node, keys, "gpu")
    found: dict[str, int] = {}
    for key in row.rows:
        amount = form.decimal(row.get(key), _MILLION)
        types = ("",) if key == "other" else resolve(key)
        if not types:
            form.refuse("DS105", span_of(row.rows[key]), say("no GPU type is called {name!r}", name=key))
        if amount is not None:
            found.update(dict.fromkeys(types, amount))
    return found


def _tiers(form: Form, node: Node | None) -> tuple[Tier, ...]:
    found: list[Tier] = []
    for item in form.items(node)[:_MOST_TIERS]:
        row = form.table(item, ("from", "factor"), "a tier")
        begin = _permille(form, row.get("from"))
        factor = form.decimal(row.need("factor"), 1000) or 1000
        if found and begin <= found[-1].from_permille:
            message = say("this tier begins no later than the one before it")
            form.refuse("DS202", row.span, message, say("write them in order"))
        if factor < 1000:
            message = say("a factor below 1 would make hours beyond the bound cheaper")
            form.refuse("DS104", row.span, message, say("write 1 or more"))
        found.append(Tier(begin, factor))
    return tuple(found)


def _permille(form: Form, node: Node | None) -> int:
    """`25%` or `0%`; where nothing is written, at once."""
    if node is None:
        return 0
    text = form.text(node, "0%")
    whole, sign, rest = text.partition("%")
    digits = whole.strip()
    if sign and not rest.strip() and digits.isascii() and digits.isdigit() and len(digits) <= 6:
        return int(digits) * 10
    message = say("this must be {want}", want=say("a share of max_gpu_hours, such as 25%"))
    form.refuse("DS104", span_of(node), message)
    return 0
