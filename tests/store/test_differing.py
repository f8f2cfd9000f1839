"""Comparing trees as bytes says what comparing their rows would, and reads records as they were written."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.store import records, trees
from dsec.store.values import Damaged, Record
from tests.store.test_forms import IDS, MUTATIONS, NAMES, ROWS, mutated

SAME = st.lists(
    st.tuples(NAMES, st.sampled_from([trees.FILE, trees.FOLDER, trees.LINK]), IDS), max_size=6,
    unique_by=lambda row: row[0],
)  # fmt: skip


def row(name, kind, one, mtime=0):
    extra = b"to" if kind == trees.LINK else b""
    return (name, kind, 0o644, mtime, 2, one, extra)


def expected(before, after):
    return sorted(set(before) - set(after)), sorted(set(after) - set(before))


@given(ROWS, ROWS)
def test_any_two_trees(before, after):
    found = trees.differing(trees.encoded(before), trees.encoded(after))
    assert tuple(map(sorted, found)) == expected(before, after)


@given(SAME, st.data())
def test_two_trees_with_the_same_names(names, data):
    before = sorted(row(*one) for one in names)
    change = st.sampled_from(["keep", "id", "mtime", "kind"])
    after = []
    for name, kind, _, _, _, one, _ in before:
        how = data.draw(change)
        after.append(
            row(
                name,
                {trees.FILE: trees.FOLDER}.get(kind, trees.FILE) if how == "kind" else kind,
                data.draw(IDS) if how == "id" else one,
                7 if how == "mtime" else 0,
            )
        )
    found = trees.differing(trees.encoded(before), trees.encoded(after))
    assert tuple(map(sorted, found)) == expected(before, after)


@given(SAME, IDS, MUTATIONS)
def test_a_harmed_tree_gives_rows_or_says_so(names, other, how):
    before = sorted(row(*one) for one in names)
    after = [(*one[:5], other, *one[6:]) for one in before]
    try:
        found = trees.differing(trees.encoded(before), mutated(trees.encoded(after), *how))
    except trees.TreeError:
        return
    assert all(b"/" not in one[0] and one[0] not in (b"", b".", b"..") for part in found for one in part)


@pytest.mark.parametrize("name", [b"a/b", b"..", b".", b"a\0b"])
def test_names_that_lead_elsewhere_are_never_given(name):
    two = [trees.encoded([row(name, trees.FILE, bytes((one,)) * 32)]) for one in (1, 2)]
    with pytest.raises(trees.TreeError):
        trees.differing(*two)


@pytest.mark.battery
@given(ROWS)
def test_what_a_tree_names(rows):
    found = trees.named(trees.encoded(rows))
    kinds = {one[1] for one in rows}
    if kinds - {trees.FILE, trees.FOLDER}:
        assert found is None
    else:
        assert found == ([], [one[5] for one in rows])


@given(st.lists(IDS), st.lists(IDS), st.binary(), MUTATIONS)
def test_a_record_comes_back_and_a_harmed_one_does_not(ones, others, document, how):
    texts = [tuple(one.hex() for one in some) for some in (ones, others)]
    record = Record("name", document, *texts, 12)
    data = records.encoded(record)
    assert records.decoded("name", data) == record
    harmed = mutated(data, *how)
    if harmed != data:
        with pytest.raises(Exception, match="record name") as caught:
            records.decoded("name", harmed)
        assert type(caught.value).__module__ == Damaged.__module__


@pytest.mark.parametrize(
    "rest",
    [
        b"at 1\ntrees\ncontents", b"at x\ntrees\ncontents\n\n", b"at 1 2\ntrees\ncontents\n\n",
        b"at 1\ntrees abc\ncontents\n\n", b"at 1\ncontents\ntrees\n\n", b"at 1\ntrees  \ncontents\n\n",
        b"at 1\ntrees " + b"A" * 64 + b"\ncontents\n\n", b"\n\n", b"",
        b"at 123456789012345678901\ntrees\ncontents\n\n",
    ],
)  # fmt: skip
def test_lines_of_a_record_that_are_not_as_they_should_be(rest):
    from blake3 import blake3

    data = b"dsec.record 1 " + blake3(rest).hexdigest().encode() + b"\n" + rest
    with pytest.raises(Damaged):
        records.decoded("name", data)


@pytest.mark.parametrize("file", ["%", "%4", "%zz", "a%41", "%2e", "% 1", "a b"])
def test_files_that_no_record_has(file):
    assert records.name_of(file) is None


@pytest.mark.parametrize("first", ["from dsec.store.compression import Zstd; Zstd()", "pass"])
def test_zstandard_as_a_whole_can_be_imported_too(first):
    """The part in C may be there already when someone else wants all of it."""
    code = f"{first}; import zstandard; zstandard.ZstdCompressor(level=3).compress(b'x')"
    code += "; from dsec.store.compression import Zstd; Zstd().compress(b'x', 1)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


@given(st.integers(0, 40), st.sets(st.tuples(st.integers(0, 39), st.integers(0, 54)), max_size=20))
def test_rows_that_differ_are_found_however_many(count, places):
    before = bytes(range(55)) * count
    after = bytearray(before)
    for number, at in places:
        if number < count:
            after[number * 55 + at] ^= 1
    assert trees._unlike(before, bytes(after)) == sorted({number for number, _ in places if number < count})
