"""Stored plans: whole or not at all, and nothing odd gets in."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.codec import canonical
from dsec.durations import Learned, contract_key, parse_durations, read_durations, write_durations
from dsec.errors import FileProblem, StoredFormError
from dsec.hashing import digest
from dsec.inventory import Inventory
from dsec.plan import FORMAT, Source
from dsec.planfile import load_plan, parse_plan, plan_bytes, save_plan
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.fast import run

BOX = Inventory("os", 2000, 2**33, None, None, (), ())


@pytest.fixture(scope="session")
def plan(make):
    contract = make.contract([make.step("A"), make.step("B", ["A"], at=1)], name="stored")
    origin = Origin("dsandbox.yaml", (b"x",), "dsec 0", lambda _: Source("dsandbox.yaml", 1, 1))
    return compile_plan(order_steps(step_graph(contract)), contract, inventory=BOX, origin=origin, learned={})


def test_a_saved_plan_loads_as_it_was_and_leaves_nothing_beside_it(plan, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")
    save_plan(str(path), plan)
    assert load_plan(str(path)) == plan
    assert path.read_bytes() == canonical(plan) + b"\n"
    assert os.listdir(tmp_path) == ["plan.json"]


def test_a_link_stays_a_link_and_a_pipe_is_written_to(plan, tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    save_plan(str(tmp_path / "link.json"), plan)
    assert (tmp_path / "link.json").is_symlink()
    assert load_plan(str(tmp_path / "real.json")) == plan
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    save_plan(str(tmp_path / "pipe"), plan)
    assert (tmp_path / "pipe").is_fifo()
    assert os.read(reader, 64) == plan_bytes(plan)[:64]
    os.close(reader)


def test_the_hash_is_over_everything_but_itself(plan):
    document = json.loads(plan_bytes(plan))
    document["hash"] = ""
    bare = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert plan.hash == digest(FORMAT, bare)


def test_a_full_or_missing_folder_is_a_file_problem_and_the_old_plan_stays(plan, tmp_path):
    with pytest.raises(FileProblem):
        save_plan(str(tmp_path / "none" / "plan.json"), plan)
    with pytest.raises(FileProblem):
        load_plan(str(tmp_path / "plan.json"))
    with pytest.raises(FileProblem):
        load_plan(str(tmp_path))


def edited(plan, change):
    document = json.loads(plan_bytes(plan))
    change(document)
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["steps"][0].update(timeout_ms=5), "does not match its hash"),
        (lambda d: d["steps"].reverse(), "does not match its hash"),
        (lambda d: d.update(format="dsec.plan/2"), "this DSec reads 'dsec.plan/1'"),
        (lambda d: d.update(format="ninja"), "is no plan"),
        (lambda d: d.pop("format"), "is no plan"),
        (lambda d: d.update(extra=1), "unknown key 'extra'"),
        (lambda d: d["steps"][0]["demand"].pop("cpu_m"), "lacks 'cpu_m'"),
        (lambda d: d["steps"][0].update(timeout_ms="5"), "not int"),
        (lambda d: d["steps"][0].update(timeout_ms=True), "not an integer"),
        (lambda d: d["steps"][0].update(timeout_ms=1.5), "1.5 is not an integer"),
        (lambda d: d.update(name="\ud800"), "surrogate"),
    ],
)
def test_an_edited_plan_is_refused_in_words(plan, change, words):
    with pytest.raises(StoredFormError, match=words):
        parse_plan(edited(plan, change), where="plan.json")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"NaN", b'{"a":1,"a":2}', b"\xff\xfe\x00", b"[" * 100_000]
)
def test_what_is_no_plan_is_said_to_be_none(data):
    with pytest.raises(StoredFormError):
        parse_plan(data, where="plan.json")


@given(data=st.binary(max_size=200))
def test_any_bytes_give_a_plan_or_words(data):
    with pytest.raises(StoredFormError):
        parse_plan(data, where="plan.json")


@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_flipped_byte_never_goes_unnoticed(plan, at, byte):
    data = bytearray(plan_bytes(plan))
    at %= len(data) - 1
    if data[at] == byte:
        return
    data[at] = byte
    try:
        found = parse_plan(bytes(data), where="plan.json")
    except StoredFormError:
        return
    assert found == plan, "white space may change, content may not"


def test_domains_and_lengths_keep_hashes_apart():
    assert digest("a", b"bc") != digest("ab", b"c") != digest("a", b"b", b"c")
    assert len(digest("a")) == 64


def test_durations_come_back_as_written(tmp_path):
    here = str(tmp_path)
    assert read_durations(here, "a") == {}
    learned = {"S1": (Learned(120, 3, "w", "2 x l4"), Learned(7, 1, "w")), "S2": (Learned(0, 1),)}
    write_durations(here, "a", learned)
    assert read_durations(here, "a") == learned
    assert os.listdir(tmp_path) == ["durations.json"]


def test_contracts_do_not_learn_from_each_other(tmp_path):
    here = str(tmp_path)
    write_durations(here, "a", {"S1": [Learned(120, 3)], "S2": [Learned(5, 1)]})
    write_durations(here, "b", {"S1": [Learned(9, 1)]})
    write_durations(here, "a", {"S2": [Learned(7, 2)]})
    assert read_durations(here, "a") == {"S1": (Learned(120, 3),), "S2": (Learned(7, 2),)}
    assert read_durations(here, "b") == {"S1": (Learned(9, 1),)}
    assert read_durations(here, "c") == {}
    names = [contract_key("x/one.yaml", ""), contract_key("two.yaml", ""), contract_key("two.yaml", "one")]
    assert len({*names, contract_key("y/one.yaml", "one")}) == 3, (
        "a contract without a name has that of its file"
    )


def test_durations_are_kept_by_command_and_devices_the_latest_first(tmp_path):
    here = str(tmp_path)
    write_durations(here, "a", {"S": [Learned(5, 1, "old", "1 x l4")]})
    write_durations(here, "a", {"S": [Learned(6, 1, "new", "1 x l4")]})
    write_durations(here, "a", {"S": [Learned(7, 2, "new", "1 x t4"), Learned(8, 2, "old", "1 x l4")]})
    assert [one.ms for one in read_durations(here, "a")["S"]] == [7, 8, 6]
    for at in range(20):
        write_durations(here, "a", {"S": [Learned(at, 1, f"w{at}")]})
    assert [one.ms for one in read_durations(here, "a")["S"]] == [19, 18, 17, 16, 15, 14, 13, 12]


def test_durations_of_an_earlier_version_count_for_no_command(tmp_path):
    here = str(tmp_path)
    (tmp_path / "durations.json").write_text('{"version":2,"contracts":{"a":{"S1":{"ms":5,"n":1}}}}')
    assert read_durations(here, "a") == {"S1": (Learned(5, 1),)}
    write_durations(here, "a", {"S1": [Learned(7, 2, "w")]})
    assert read_durations(here, "a") == {"S1": (Learned(7, 2, "w"),)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version":1}',
        '{"version":2,"steps":{}}',
        '{"version":2,"contracts":{"a":[]}}',
        '{"version":4,"contracts":{}}',
        '{"version":3,"contracts":{"a":{"S":[]}}}',
        '{"version":3,"contracts":{"a":{"S":[{"ms":1,"n":1,"work":5}]}}}',
        '{"version":3,"contracts":{"a":{"S":[{"ms":1,"n":1,"more":""}]}}}',
        '{"contracts":{}}',
        '{"version":1,"steps":{"S":5}}',
        '{"version":1,"steps":{"S":{"ms":-1,"n":1}}}',
        '{"version":1,"steps":{"S":{"ms":1.5,"n":1}}}',
        '{"version":1,"steps":{"S":{"ms":1,"n":0}}}',
    ],
)
def test_a_damaged_durations_file_is_refused_with_the_way_out(text):
    with pytest.raises(StoredFormError, match="delete it"):
        parse_durations(text.encode(), where="durations.json")


def test_a_described_inventory_counts_by_its_content_not_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "dsandbox.yaml").write_text(
        "name: one\nbaseline: {cpu: 1}\nelasticity: {}\nfault_tolerance: {level: elastic}\n"
        "dependencies: []\nsteps: [{id: a, run: 'true', timeout: 1m}]\n"
    )
    box = "cpu: 8\nmemory: 64Gi\n"
    (tmp_path / "box.yaml").write_text(box)
    (tmp_path / "copy.yaml").write_text(box)
    (tmp_path / "other.yaml").write_text(box.replace("8", "9"))

    def planned(inventory):
        assert run("dsec", ["plan", "--inventory", inventory, "-o", "plan.json"]) == 0
        return (tmp_path / "plan.json").read_bytes()

    first, *others = map(planned, ("box.yaml", "./box.yaml", f"{tmp_path}/box.yaml", "sub/../box.yaml"))
    assert others == [first] * 3
    plan, copy, other = (
        parse_plan(data, where="x") for data in (first, planned("copy.yaml"), planned("other.yaml"))
    )
    assert (copy.hash, copy.inventory_hash) == (plan.hash, plan.inventory_hash)
    assert other.hash != plan.hash
