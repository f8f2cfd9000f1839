"""The METADATA of an installed package are read as packaging reads them, without importing it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import parse_email

from dsec_cli.packages.conflicts import Entry, find, installed_outside
from dsec_cli.packages.installed import facts_of
from dsec_cli.packages.known import Shelf
from dsec_cli.packages.markers import environment

TEXT = """Metadata-Version: 2.1
Name: TRL
Version: 0.9.6
Summary: Trains
  over two lines
Requires-Python: >=3.8
Requires-Dist: transformers >=4.31.0
Requires-Dist: numpy<2.0.0,>=1.18.2 ; platform_system != "Windows"
Requires-Dist: pytest ; extra == 'test'
Requires-Dist: broken >>

Requires-Dist: not-a-header
"""


def test_the_head_is_read() -> None:
    facts = facts_of(TEXT)
    assert facts is not None
    assert (facts.name, facts.releases, facts.read) == ("trl", ("0.9.6",), {"0.9.6"})
    assert [(row.on, row.needs, row.when) for row in facts.rows] == [
        ("python", ">=3.8", ""),
        ("transformers", ">=4.31.0", ""),
        ("numpy", "<2.0.0,>=1.18.2", 'platform_system != "Windows"'),
        ("pytest", "", "extra == 'test'"),
    ]
    raw, _ = parse_email(TEXT)
    assert (raw["name"], raw["version"]) == ("TRL", "0.9.6")


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    facts_of(text)
    facts_of(f"Name: a\nVersion: 1\nRequires-Dist: {text}")


def test_no_name_or_version_is_no_package() -> None:
    assert facts_of("Name: a\n") is facts_of("") is facts_of("Version: 1\n") is None


def here(*texts: str, **named: object) -> Shelf:
    found = {facts.name: facts for text in texts if (facts := facts_of(text)) is not None}
    return Shelf(lambda _: None, installed=found, known=environment("3.11.4", machine="x86_64"))


def test_an_installed_package_is_a_link_of_the_chain() -> None:
    entries = (Entry("trl", ">=0.8", path=(0,)), Entry("transformers", "==4.20.1", path=(1,)))
    (conflict,) = find(entries, here(TEXT))
    assert conflict.one.words == "contract -> trl 0.9.6 (installed) -> transformers >=4.31.0"
    assert conflict.sources == ("METADATA of the installed trl 0.9.6",)


def test_an_installed_package_outside_the_range() -> None:
    entries = (Entry("trl", ">=0.10", path=(0,)), Entry("numpy", ">=1", path=(1,)))
    assert installed_outside(entries, here(TEXT)) == ((entries[0], "0.9.6"),)
    assert find(entries, here(TEXT)) == ()


def test_an_installed_version_that_is_none() -> None:
    text = TEXT.replace("0.9.6", "odd version")
    entries = (Entry("trl", ">=0.10", path=(0,)), Entry("transformers", "==4.20.1", path=(1,)))
    assert installed_outside(entries, here(text)) == find(entries, here(text)) == ()
