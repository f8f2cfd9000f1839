"""What the structural checker says, code by code, with the place it points at and the edit it offers."""

from __future__ import annotations

import pytest

from dsec_cli.contract import suggest
from dsec_cli.contract.amending import unread_colon
from dsec_cli.contract.check import check
from dsec_cli.contract.complaints import NOUNS
from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.quantities import BY_NAME, GPU_MEMORY
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse
from tests.contract.checking import applied, findings, only

GRAMMAR = "a letter or digit followed by at most 63 letters, digits, '_', '.' or '-'"
FULL = """\
baseline: {gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}, cpu: 8, memory: 64Gi}
elasticity: {gpu: {min_count: 2, max_count: 4}}
fault_tolerance: {level: pauseable}
dependencies: []
"""


def test_a_whole_contract_is_quiet() -> None:
    assert findings(FULL, "contract") == []


@pytest.mark.parametrize(
    ("text", "where", "message", "advice"),
    [
        (
            "elasticity: {gpu: {max_cuont: 4}}",
            ("elasticity", "gpu", "max_cuont"),
            "unknown key 'max_cuont' in elasticity.gpu",
            "did you mean max_count?",
        ),
        (
            "elasticity: {max_count: 4}",
            ("elasticity", "max_count"),
            "unknown key 'max_count' in elasticity",
            "max_count belongs in elasticity.gpu or steps[].resources.gpu",
        ),
        (
            "baseline: {gpu: {count: 1, min_count: 1}}",
            ("baseline", "gpu", "min_count"),
            "unknown key 'min_count' in baseline.gpu",
            "min_count belongs in elasticity.gpu or steps[].resources.gpu",
        ),
        (
            "x-gpu: &g {count: 1}",
            ("x-gpu",),
            "unknown key 'x-gpu' in the document",
            "put the anchor where its value is first used: there are no keys that only keep anchors",
        ),
        (
            "max_epochs: 3",
            ("max_epochs",),
            "unknown key 'max_epochs' in the document",
            suggest.TRAINER_KEYS["max_epochs"],
        ),
        (
            "include_code: {}",
            ("include_code",),
            "unknown key 'include_code' in the document",
            "did you mean include-code?",
        ),
        (
            "steps: [{id: a, depends_on: []}]",
            ("steps", 0, "depends_on"),
            "unknown key 'depends_on' in steps[0]",
            "did you mean needs?",
        ),
        (
            "steps: [{id: a, cmd: ls}]",
            ("steps", 0, "cmd"),
            "unknown key 'cmd' in steps[0]",
            "did you mean run?",
        ),
        (
            "steps: [{id: a, script: ls}]",
            ("steps", 0, "script"),
            "unknown key 'script' in steps[0]",
            "did you mean run?",
        ),
        (
            "steps: [{id: a, resources: {gpus: 1}}]",
            ("steps", 0, "resources", "gpus"),
            "unknown key 'gpus' in steps[0].resources",
            "use resources.gpu.count (and resources.gpu.type)",
        ),
        (
            "baseline: {gpus: 1}",
            ("baseline", "gpus"),
            "unknown key 'gpus' in baseline",
            "use baseline.gpu.count and baseline.gpu.type",
        ),
        (
            "iterations: {count: 1, zzz: 1}",
            ("iterations", "zzz"),
            "unknown key 'zzz' in iterations",
            "legal here: max_staleness, in_flight, carried",
        ),
    ],
)
def test_unknown_keys(text: str, where: tuple[object, ...], message: str, advice: str) -> None:
    finding = only(text)
    assert (finding.code, finding.where, finding.part) == ("DS101", where, "key")
    assert (finding.message, finding.help) == (message, advice)


@pytest.mark.parametrize("missing", ["baseline", "elasticity", "fault_tolerance", "dependencies"])
def test_each_dimension_is_mandatory_in_a_contract_only(missing: str) -> None:
    text = "".join(line + "\n" for line in FULL.splitlines() if not line.startswith(missing))
    finding = only(text, "contract")
    assert finding.code == "DS102"
    assert missing in finding.message
    assert findings(text, "steps") == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("24Gbit", "Gbit counts bits: for memory write 24Gi (binary) or, if bits are meant, 3GB"),
        ("4 Gbit", "Gbit counts bits: for memory write 4Gi (binary) or, if bits are meant, 500MB"),
        ("3kbit", "kbit counts bits: for memory write 3Ki (binary) or, if bits are meant, 375B"),
        ("24gb", "did you mean 24GB?"),
        ("bit", "write it as in 24Gi"),
    ],
)
def test_memory_in_bits_is_told_what_it_is(text: str, advice: str) -> None:
    tree = parse(SourceText.from_bytes("f", f"baseline: {{memory: {text}}}\n".encode()))
    found = [one for one in check(tree.documents[0], "contract").findings if one.code == "DS106"]
    assert [one.help for one in found] == [advice]


def test_the_example_of_each_dimension_is_legal() -> None:
    from dsec_cli.contract.complaints import DIMENSION_EXAMPLES

    assert findings("\n".join(DIMENSION_EXAMPLES.values()), "contract") == []


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        ("steps: 1", "steps must be a list, not the number 1", "write it as a list: [1]"),
        ("steps:", "steps is empty: it must be a list", "give it a value, or remove the key"),
        ("steps: [5]", "steps[0] must be a mapping with keys such as id, name, run, not the number 5", ""),
        ("name: [a]", "name must be text, not a list", "write a without the brackets"),
        ("name: [a, b]", "name must be text, not a list", "write one value, for example a"),
        ("name: ''", "name is empty: it must be text", "give it a value, or remove the key"),
        ("name: 1.10", "name must be text, not the number 1.10", 'quote it: "1.10"'),
        (
            "telemetry: no",
            "telemetry must be true or false, not the text 'no'",
            "YAML 1.2 reads no as text: write false",
        ),
        (
            "max_steps_per_episode: '4'",
            "max_steps_per_episode must be a whole number, at least 0, not the text '4'",
            "remove the quotes",
        ),
        (
            "iterations: {count: 0}",
            "iterations.count must be a whole number, at least 1, not the number 0",
            "",
        ),
        (
            "iterations: {count: 2.5}",
            "iterations.count must be a whole number, at least 1, not the number 2.5",
            "",
        ),
        ("steps: [{id: a, run: []}]", "steps[0].run must have at least 1 item", "fill it, or remove the key"),
        (
            "steps: [{id: a, needs: [[a]]}]",
            f"steps[0].needs[0] must be {GRAMMAR} or a mapping, not a list",
            "write a without the brackets",
        ),
        (
            "steps: [{id: a b}]",
            f"'a b' is no step id: it must be {GRAMMAR}",
            "write a-b",
        ),
        ("[a]: 1", "a key must be text", "write the key as one word"),
    ],
)
def test_wrong_types(text: str, message: str, advice: str) -> None:
    finding = only(text)
    assert (finding.code, finding.message, finding.help) == ("DS104", message, advice)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("fault_tolerance: {level: pausable}", "did you mean pauseable?"),
        ("fault_tolerance: {level: PAUSEABLE}", "did you mean pauseable?"),
        (
            "fault_tolerance: {level: uninterruptible}",
            "uninterruptible is called critical here: write critical",
        ),
        ("nvlink_mode: 3", ""),
    ],
)
def test_words_outside_a_closed_set(text: str, advice: str) -> None:
    finding = only(text)
    assert (finding.code, finding.help) == ("DS105", advice)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("latency_cap: 75", "did you mean 75s?"),
        ("latency_cap: fast", "write it as in 30s"),
        ("baseline: {memory: 64G}", "did you mean 64Gi?"),
        ("baseline: {memory: 64}", "did you mean 64Gi?"),
        ("baseline: {memory: 65536}", "did you mean 65536Mi?"),
        ("baseline: {memory: 16777216}", "did you mean 16777216Ki?"),
        ("baseline: {memory: 68719476736}", "did you mean 68719476736B?"),
        ("baseline: {gpu: {count: 1, memory: 24-class}}", "did you mean 24GB-class?"),
        ("baseline: {gpu: {count: 1, memory: 24Gi-class}}", "did you mean 24GB-class?"),
    ],
)
def test_bad_quantities(text: str, advice: str) -> None:
    finding = only(text)
    assert (finding.code, finding.help) == ("DS106", advice)


def test_a_missing_key_is_said_of_its_owner() -> None:
    finding = only("runtime_context: {mounts: [{path: /data}]}")
    assert finding.code == "DS109"
    assert finding.where == ("runtime_context", "mounts", 0)
    assert finding.message == "runtime_context.mounts[0] lacks the required key source"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("elasticity: {gpu: {max_cuont: 4}}", "elasticity: {gpu: {max_count: 4}}"),
        ("include_code: {}", "include-code: {}"),
        ("name: 5", 'name: "5"'),
        ("steps: [{id: 1}]", 'steps: [{id: "1"}]'),
        ("telemetry: no", "telemetry: false"),
        ("fault_tolerance: {level: Pauseable}", "fault_tolerance: {level: pauseable}"),
    ],
)
def test_edits_mend_what_they_are_for(before: str, after: str) -> None:
    assert applied(before, only(before)) == after
    assert findings(after) == []


@pytest.mark.parametrize(
    "text",
    [
        "latency_cap: 75",
        "fault_tolerance: {level: pause}",
        "name: &n 5",
    ],
)
def test_no_edit_where_the_meaning_is_a_guess(text: str) -> None:
    assert only(text).fixes == ()


def test_a_word_that_is_right_elsewhere_is_no_safe_edit() -> None:
    """Who writes how many processors there may be means no GPUs."""
    finding = only("elasticity: {cpu: {min_count: 1}}")
    assert finding.help == "did you mean gpu?"
    assert [fix.safe for fix in finding.fixes] == [False]


def test_a_guess_is_no_safe_edit() -> None:
    fixes = only("elasticity: {gpu: {max_count: 4, max_cuont: 4}}").fixes
    assert [fix.safe for fix in fixes] == [False]


def test_all_findings_of_a_document_come_at_once() -> None:
    text = "name: 5\nnvlink_mode: x\nlatency_cap: 5\nzzz: 1\niterations: {}\nsteps: {}\n"
    assert [finding.code for finding in findings(text)] == [
        "DS104",
        "DS105",
        "DS106",
        "DS101",
        "DS109",
        "DS104",
    ]


def test_merge_keys_count_as_if_written_out() -> None:
    text = "steps:\n  - &a {id: a, run: x, timeout: 5s}\n  - {<<: *a, id: b, timeout: 5}\n"
    finding = only(text)
    assert finding.where == ("steps", 1, "timeout")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_steps_per_episode: 2000000", "at least 0, at most 1000000, not the number 2000000"),
        ("baseline: {cpu: 1e308}", "at least 0, at most 1000000, not the number 1e308"),
        ("baseline: {cpu: -1}", "at least 0, not the number -1"),
    ],
)
def test_an_upper_bound_is_said_to_whom_it_concerns(text: str, words: str) -> None:
    assert only(text).message.endswith(words)


def test_a_need_of_nothing_is_no_need() -> None:
    assert [finding.code for finding in findings("steps: [{id: a, needs: [null]}]")] == ["DS104"]


def test_a_list_that_could_not_be_read_is_not_called_empty() -> None:
    assert findings('steps:\n  - {id: "\\q"}\n') == []


def test_what_could_not_be_read_is_not_called_missing() -> None:
    assert findings("iterations: *nowhere") == []
    assert findings("iterations: {<<: *nowhere}") == []


@pytest.mark.parametrize("text", ["5", "[a]", "text"])
def test_a_root_must_be_a_mapping(text: str) -> None:
    finding = only(text)
    assert (finding.code, finding.where) == ("DS104", ())


def test_distance_counts_swapped_neighbours_once() -> None:
    assert suggest.distance("cuont", "count", most=3) == 1
    assert suggest.distance("level", "level", most=3) == 0
    assert suggest.distance("a", "abcdef", most=3) == 4


@pytest.mark.parametrize(
    ("word", "legal", "meant"),
    [
        ("max_count", ("maxcount", "MaxCount", "count"), ("MaxCount", True)),
        ("gracePeriod", ("level", "checkpoint_grace_period"), ("checkpoint_grace_period", False)),
        ("gracePeriod", ("level",), None),
        ("leve", ("level", "lever"), ("level", False)),
        ("levl", ("level", "count"), ("level", True)),
        ("l" * 65, ("l" * 64,), None),
        ("x", (), None),
    ],
)
def test_the_nearest_of_the_legal_words(word: str, legal: tuple[str, ...], meant: object) -> None:
    assert suggest.nearest(word, legal) == meant
    assert suggest.nearest(word, legal[::-1]) == meant


@pytest.mark.parametrize("word", sorted(suggest.SYNONYMS.values()))
def test_words_for_synonyms_exist(word: str) -> None:
    from dsec_cli.contract.table import SECTIONS

    assert any(word in shapes for _, _, shapes in SECTIONS.values())


@pytest.mark.parametrize(
    ("key", "said"), [("base ", ""), (" x", ""), ("a:b", "a"), ("a :b", "a"), ("a：b", "a")]
)
def test_only_a_key_with_a_colon_in_it_holds_its_value(key, said):
    assert (f"`{said}`" in unread_colon(key)) == bool(said)


def test_every_kind_of_text_has_a_noun():
    assert set(NOUNS) == {*BY_NAME, GPU_MEMORY, *FORMS}


def test_a_wrong_name_of_a_token_is_called_one():
    assert only("tokens: {a b: 1}\n").message == f"'a b' is no token name: it must be {GRAMMAR}"


def test_a_wrong_reduction_is_called_one():
    [found] = findings("steps: [{id: a, run: x, timeout: 1m, all_reduce: middle of}]\n")
    assert found.message.startswith("'middle of' is no reduction")
