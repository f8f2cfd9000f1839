"""Finding, searching and merging entries."""

from __future__ import annotations

import json

from dsec_cli.code.knowledge import Knowledge, lookup, merge, named, parse, search


def knowledge(*entries: dict[str, object]) -> Knowledge:
    """A knowledge base of entries that say only what a test needs."""
    whole = {
        "kind": "tool",
        "framework": "plain",
        "imports": [],
        "function": "Does it.",
        "egress": [],
        "env": [],
        "files": [],
        "subprocess": False,
        "executes": False,
    }
    return parse(json.dumps({"version": 1, "entries": [{**whole, **entry} for entry in entries]}))


KEY = {"name": "SHOP_KEY", "required": True, "secret": True}
KNOWN = knowledge(
    {"name": "shop", "imports": ["shop", "shop.api"], "env": [KEY]},
    {"name": "shop.Cart", "imports": ["shop.Cart"], "egress": ["cart.example.com:443", "unknown: a hook"]},
    {"name": "boto3", "imports": ["boto3.client"]},
    {"name": "s3", "imports": ["boto3.client(s3)"]},
)


def name(dotted: str) -> str | None:
    found = lookup(KNOWN, dotted)
    return found.name if found else None


def test_the_longest_import_wins() -> None:
    assert name("shop.Cart.add") == "shop.Cart"
    assert name("shop.Carts") == "shop"
    assert name("shop.api.v2.get") == "shop"


def test_a_name_is_no_prefix_of_a_word() -> None:
    assert name("shopping.Cart") is None
    assert name("") is None
    assert name(".") is None


def test_a_call_is_found_by_its_first_argument() -> None:
    assert name("boto3.client(s3)") == "s3"
    assert name("boto3.client(s3).get_object") == "s3"
    assert name("boto3.client(other)") == "boto3"
    assert name("boto3.client(s3.eu") == "boto3"


def test_known_and_unknown_destinations_are_told_apart() -> None:
    cart = lookup(KNOWN, "shop.Cart")
    assert cart is not None
    assert cart.hosts == ("cart.example.com:443",)
    assert cart.unknown_egress == ("a hook",)


def test_entries_are_found_by_name_import_and_text() -> None:
    assert named(KNOWN, "SHOP.cart") == lookup(KNOWN, "shop.Cart")
    assert named(KNOWN, "boto3.client(s3)") == lookup(KNOWN, "boto3.client(s3)")
    assert named(KNOWN, "cart") is None
    assert [entry.name for entry in search(KNOWN, "shop_key")] == ["shop"]
    assert [entry.name for entry in search(KNOWN, "EXAMPLE.com")] == ["shop.Cart"]
    assert search(KNOWN, "nothing of the kind") == ()


def test_users_entries_replace_and_win() -> None:
    mine = knowledge(
        {"name": "shop", "imports": ["shop"], "function": "Mine."},
        {"name": "my.Cart", "imports": ["shop.Cart"]},
    )
    both = merge(KNOWN, mine)
    assert [entry.name for entry in both.entries] == ["boto3", "my.Cart", "s3", "shop", "shop.Cart"]
    shop, cart, api = lookup(both, "shop"), lookup(both, "shop.Cart"), lookup(both, "shop.api")
    assert shop is not None
    assert shop.function == "Mine."
    assert cart is not None
    assert cart.name == "my.Cart"
    assert api == shop, "the replaced entry's other import is gone, and the prefix is the new one's"
    assert merge(KNOWN, knowledge()) == KNOWN


def test_order_does_not_depend_on_the_file() -> None:
    again = knowledge({"name": "b"}, {"name": "A"}, {"name": "a"}, {"name": "B"})
    assert [entry.name for entry in again.entries] == ["A", "a", "B", "b"]
