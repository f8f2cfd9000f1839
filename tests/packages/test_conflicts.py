"""Conflicts are found with both chains, and never claimed where a set of versions works."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli.packages.alternatives import nearest
from dsec_cli.packages.conflicts import find
from dsec_cli.packages.disputes import in_turn
from dsec_cli.packages.known import Row
from dsec_cli.packages.markers import environment
from dsec_cli.packages.ranges import holds, of
from dsec_cli.packages.settle import settle

TABLE = {
    "trl": {
        "0.8.0": {"transformers": ">=4.18"},
        "0.9.6": {"transformers": ">=4.31"},
        "0.10.0": {"transformers": ">=4.40"},
    },
    "transformers": {
        "4.20.1": {"tokenizers": "<0.13"},
        "4.31.0": {"tokenizers": ">=0.13,<0.14"},
        "4.40.0": {"tokenizers": ">=0.19,<0.20", "python": ">=3.8"},
    },
}
NOTE = Row("torch", (), "<2.3", "numpy", "<2", "", "https://example.org/note")


def words(making, *texts: str, **named) -> list[tuple[str, str]]:
    entries = making.entries(*texts)
    return [(one.one.words, one.other.words) for one in find(entries, making.shelf(TABLE, **named))]


def test_both_chains_are_named(making) -> None:
    assert words(making, "trl ==0.9.6", "transformers ==4.20.1") == [
        ("contract -> trl 0.9.6 -> transformers >=4.31", "contract -> transformers ==4.20.1")
    ]


def test_a_chain_through_a_package_that_is_not_stated(making) -> None:
    assert (
        words(making, "trl ==0.10.0", "tokenizers ==0.13.3")
        == [
            (
                "contract -> trl 0.10.0 -> transformers >=4.40 -> tokenizers >=0.19,<0.20",
                "contract -> tokenizers ==0.13.3",
            )
        ]
        or words(making, "trl ==0.10.0", "tokenizers ==0.13.3") == []
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("trl ==0.9.6", "transformers ==4.31.0"),
        ("trl ==0.9.6", "transformers"),
        ("trl >=0.8,<0.10", "transformers ==4.20.1"),
        ("trl >=0.9", "transformers ==4.20.1"),
        ("trl ==0.9.5", "transformers ==4.20.1"),
        ("trl ==0.9.6+cu121", "transformers ==4.20.1"),
        ("trl >=0.9.6rc1,<=0.10.0", "transformers ==4.20.1"),
        ("unheard-of ==1", "transformers ==4.20.1"),
    ],
)
def test_what_may_work_is_not_called_a_conflict(making, texts: tuple[str, ...]) -> None:
    """Among them: newer releases, a release that nobody has read, local builds and pre-releases."""
    assert words(making, *texts) == []


def test_a_link_that_names_early_releases_leaves_unlisted_ones_open(making) -> None:
    table = {**TABLE, "trl": {"0.10.0": {"transformers": ">=4.40,<=4.40.0"}}}
    early = {**TABLE, "trl": {"0.10.0": {"transformers": ">=4.40rc1,<=4.40.0"}}}
    entries = making.entries("trl ==0.10.0", "tokenizers ==0.13.3")
    assert len(find(entries, making.shelf(table))) == 1
    assert find(entries, making.shelf(early)) == ()


def test_every_release_of_a_range_has_to_be_ruled_out(making) -> None:
    assert words(making, "trl >=0.9,<=0.10.0", "transformers ==4.20.1") == [
        (
            "contract -> trl >=0.9,<=0.10.0 -> transformers >=4.31 or >=4.40",
            "contract -> transformers ==4.20.1",
        )
    ]


def test_a_row_over_a_range_rules_out_releases_that_nobody_has_listed(making) -> None:
    assert words(making, "torch ==2.1.5", "numpy >=2", extra=(NOTE,)) == [
        ("contract -> torch 2.1.5 -> numpy <2", "contract -> numpy >=2")
    ]
    assert words(making, "torch >=2.1,<2.4", "numpy >=2", extra=(NOTE,)) == []


def test_the_python_is_a_party(making) -> None:
    assert words(making, "transformers ==4.40.0", known=environment("3.7.9")) == [
        ("contract -> transformers 4.40.0 -> python >=3.8", "environment -> python 3.7.9")
    ]
    assert words(making, "transformers ==4.40.0", known=environment("3.11.2")) == []


def test_a_package_stated_twice(making) -> None:
    assert words(making, "trl ==0.9.6", "trl <0.9") == [("contract -> trl ==0.9.6", "contract -> trl <0.9")]


def test_a_marker_that_is_not_known_holds_nothing_against_anybody(making) -> None:
    row = NOTE._replace(when='python_version < "3.9"')
    assert words(making, "torch ==2.1", "numpy >=2", extra=(row,)) == []
    found = words(making, "torch ==2.1", "numpy >=2", extra=(row,), known=environment("3.8.1"))
    assert found == [("contract -> torch 2.1 -> numpy <2", "contract -> numpy >=2")]


def test_the_nearest_alternative(making) -> None:
    entries, shelf = making.entries("trl ==0.9.6", "transformers ==4.20.1"), making.shelf(TABLE)
    found = nearest(find(entries, shelf)[0], entries, shelf)
    assert found is not None
    assert (found.entry.name, found.wanted) == ("trl", "==0.8.0")
    assert dict(found.works) == {"trl": "0.8.0", "transformers": "4.20.1"}


def test_an_alternative_brings_no_conflict_with_another_entry(making) -> None:
    entries = making.entries("trl ==0.9.6", "transformers ==4.20.1", "accelerate ==1")
    table = {**TABLE, "accelerate": {"1": {"trl": "==0.9.6"}}}
    shelf = making.shelf(table)
    found = nearest(find(entries, shelf)[0], entries, shelf)
    assert found is not None
    assert (found.entry.name, found.wanted) == ("transformers", "==4.31.0")


SERVER = {
    "server": {
        "0.5.0": {"torch": "==2.3", "hub": ">=4.40,<4.42"},
        "0.11.0": {"torch": "==2.8", "hub": ">=4.55"},
    },
    "torch": {"2.3": {}, "2.4": {}, "2.8": {}},
    "hub": {"4.41": {}, "4.56": {}},
}


def test_ways_out_of_several_conflicts_go_together(making) -> None:
    entries, shelf = making.entries("torch ==2.4", "server ==0.11.0", "hub ==4.41"), making.shelf(SERVER)
    told = list(find(entries, shelf))
    assert [(one.one.entry.name, one.other.entry.name) for one in told] == [
        ("torch", "server"),
        ("server", "hub"),
    ]
    ways = [way for _, way in in_turn(told, entries, shelf) if way is not None]
    assert [(way.entry.name, way.wanted) for way in ways] == [("torch", "==2.8"), ("hub", "==4.56")]
    wanted = {way.entry: way.wanted for way in ways}
    changed = tuple(one._replace(wanted=wanted.get(one, one.wanted)) for one in entries)
    assert not find(changed, shelf)
    assert settle(changed, shelf) is not None


def test_one_change_may_be_the_way_out_of_two_conflicts(making) -> None:
    table = {
        "a": {"1": {"c": "==1"}},
        "b": {"1": {"c": "==1"}},
        "c": {"1": {}, "2": {}},
    }
    entries, shelf = making.entries("a ==1", "c ==2", "b ==1"), making.shelf(table)
    told = list(find(entries, shelf))
    assert len(told) == 2
    ways = [way for _, way in in_turn(told, entries, shelf)]
    assert [way and (way.entry.name, way.wanted) for way in ways] == [("c", "==1"), ("c", "==1")]


def test_a_range_is_answered_with_a_range(making) -> None:
    entries, shelf = making.entries("trl ==0.9.6", "transformers <4.30"), making.shelf(TABLE)
    conflict = find(entries, shelf)[0]
    entries = making.entries("trl ==0.9.6", "transformers <4.30", "x ==1")
    shelf = making.shelf({**TABLE, "x": {"1": {"trl": "==0.9.6"}}})
    found = nearest(conflict, entries, shelf)
    assert found is not None
    assert (found.entry.name, found.wanted) == ("transformers", ">=4.31.0,<=4.40.0")


VERSIONS = ("1", "2", "3")
NAMES = ("a", "b", "c", "d")
WANTS = ("<2", "<=2", "==1", "==2", "==3", ">1", ">=2", ">=3", "!=2")
RANGES = ("==1", "==2", "==3", ">=1,<=3", ">=2,<=3", ">=1,<=2")
ALLOWED = {text: {one for one in VERSIONS if holds(of(text), one)} for text in (*WANTS, *RANGES)}
TABLES = st.fixed_dictionaries(
    {
        name: st.fixed_dictionaries(
            {
                version: st.dictionaries(
                    st.sampled_from([one for one in NAMES if one != name]),
                    st.sampled_from(WANTS),
                    max_size=2,
                )
                for version in VERSIONS
            }
        )
        for name in NAMES
    }
)
ENTRIES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(RANGES), min_size=2, max_size=3)


def possible(table, wanted: dict[str, str]) -> bool:
    """Whether any choice of versions of all packages keeps every requirement: by trying them all."""
    for choice in product(VERSIONS, repeat=len(NAMES)):
        chosen = dict(zip(NAMES, choice, strict=True))
        if not all(chosen[name] in ALLOWED[text] for name, text in wanted.items()):
            continue
        pulled, left = set(wanted), list(wanted)
        while left:
            new = [on for on in table[left[-1]][chosen[left.pop()]] if on not in pulled]
            pulled.update(new)
            left += new
        if all(
            chosen[on] in ALLOWED[needs] for name in pulled for on, needs in table[name][chosen[name]].items()
        ):
            return True
    return False


@pytest.mark.battery
@settings(max_examples=80, deadline=None)
@given(TABLES, ENTRIES)
def test_a_conflict_means_that_nothing_works(making, table, wanted) -> None:
    entries = making.entries(*(f"{name} {text}" for name, text in wanted.items()))
    found = find(entries, making.shelf(table))
    assert not (found and possible(table, wanted))


@pytest.mark.battery
@settings(max_examples=80, deadline=None)
@given(TABLES, ENTRIES)
def test_what_settles_works(making, table, wanted) -> None:
    entries = making.entries(*(f"{name} {text}" for name, text in wanted.items()))
    found = settle(entries, making.shelf(table))
    assert (found is not None) is possible(table, wanted)
    if found is not None:
        assert possible(table, {**wanted, **{name: f"=={one}" for name, one in found.items()}})


@pytest.mark.battery
@settings(max_examples=80, deadline=None)
@given(TABLES, ENTRIES)
def test_an_alternative_really_works(making, table, wanted) -> None:
    entries = making.entries(*(f"{name} {text}" for name, text in wanted.items()))
    shelf = making.shelf(table)
    for conflict in find(entries, shelf):
        found = nearest(conflict, entries, shelf)
        if found is None:
            continue
        pair = {one.entry.name: wanted[one.entry.name] for one in (conflict.one, conflict.other)}
        for version in VERSIONS:
            if holds(of(found.wanted), version):
                assert possible(table, {**pair, found.entry.name: f"=={version}"})


def test_the_same_answer_whatever_the_order_of_a_table(making) -> None:
    entries = making.entries("trl ==0.9.6", "transformers ==4.20.1")
    turned = dict(reversed(TABLE.items()))
    one = find(entries, making.shelf(TABLE))
    assert one == find(entries, making.shelf(turned))
