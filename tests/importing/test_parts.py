"""The small readers of the importers: values, templates, names and calls, one table each."""

from __future__ import annotations

import pytest

from dsec_cli.importing import composevalues, driver, quantities, sbatch, slurmvalues, templates
from dsec_cli.importing.commands import Environment, shell_command, words_command
from dsec_cli.importing.completing import complete, standing_cpu_m, standing_gpu, standing_memory
from dsec_cli.importing.draft import Command, Draft, Gpu, Step
from dsec_cli.importing.kind import kinds
from dsec_cli.importing.naming import Ids, legal
from dsec_cli.importing.notes import Notes, one_line
from dsec_cli.importing.overlaps import Writers
from dsec_cli.importing.tables import Table, documents
from dsec_cli.importing.writing import write
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.yaml import parse

HOUR_NS = 3600 * 10**9


def text(content: str, name: str = "f") -> SourceText:
    return SourceText.from_bytes(name, content.encode())


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("90", HOUR_NS * 3 // 2),
        ("1:30", 90 * 10**9),
        ("1:30:00", HOUR_NS * 3 // 2),
        ("2-12", 60 * HOUR_NS),
        ("1-0:30", HOUR_NS * 49 // 2),
        ("0-00:00:01", 10**9),
        ("0", None),
        ("UNLIMITED", None),
        ("1:2:3:4", None),
        ("-5", None),
        ("", None),
    ],
)
def test_times_of_slurm(written: str, ns: int | None) -> None:
    assert slurmvalues.time_ns(written) == ns


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("64G", 64 << 30),
        ("4000", 4000 << 20),
        ("1T", 1 << 40),
        ("512MB", 512 << 20),
        ("0", None),
        ("x", None),
        ("", None),
    ],
)
def test_sizes_of_slurm(written: str, size: int | None) -> None:
    assert slurmvalues.size_bytes(written) == size


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("0-3", ((0, 1, 2, 3), "")),
        ("0-6:2%2", ((0, 2, 4, 6), "2")),
        ("1,5,5,2-3", ((1, 5, 2, 3), "")),
        ("7", ((7,), "")),
        ("3-1", None),
        ("0-99999999", None),
        ("0-20000", None),
        ("0-4:0", None),
        ("a", None),
    ],
)
def test_arrays_of_slurm(written: str, found: object) -> None:
    assert slurmvalues.array(written) == found


@pytest.mark.parametrize(
    ("written", "gpus", "others"),
    [
        ("gpu:a100:2", ("a100", 2), ()),
        ("gpu:4", ("", 4), ()),
        ("gpu", ("", 1), ()),
        ("gpu:h100", ("h100", 1), ()),
        ("gres/gpu:2(S:0-1)", ("", 2), ()),
        ("gpu:a100:1,gpu:a100:2,nvme:1", ("a100", 3), ("nvme:1",)),
        ("gpu:a100:1,gpu:h100:1", ("a100", 1), ("gpu:h100:1",)),
        ("mps:50", None, ("mps:50",)),
    ],
)
def test_gpus_of_slurm(written: str, gpus: object, others: object) -> None:
    assert slurmvalues.gres(written) == (gpus, others)


def test_dependencies_of_slurm() -> None:
    items, any_of = slurmvalues.waits("afterok:1:2,after:3+5?singleton")
    assert [(one.type, one.jobs) for one in items] == [
        ("afterok", ("1", "2")),
        ("after", ("3",)),
        ("singleton", ()),
    ]
    assert any_of


def test_options_of_sbatch() -> None:
    source, span = text("x"), Span(0, 1)
    found, rest = sbatch.parse(
        ["-HJ", "name", "-c4", "--mem=1G", "--time", "5", "--exclusive", "--", "run.sh", "-x"], source, span
    )
    assert [(one.name, one.value) for one in found] == [
        ("hold", ""),
        ("job-name", "name"),
        ("cpus-per-task", "4"),
        ("mem", "1G"),
        ("time", "5"),
        ("exclusive", ""),
    ]
    assert rest == ["run.sh", "-x"]


def test_directives_end_where_commands_begin() -> None:
    script = sbatch.read_script(text("#!/bin/sh -l\n#SBATCH -n 1 # why\n# note\n\necho\n#SBATCH -n 2\n"))
    assert [(one.name, one.value) for one in script.options] == [("ntasks", "1")]
    assert script.interpreter == "sh"
    assert script.source.text[script.commands.start :].startswith("echo")


def test_calls_of_sbatch() -> None:
    content = (
        "a=$(sbatch --parsable one.sh) # first\n"
        "b=`sbatch -d afterok:$a two.sh x`\n"
        "echo sbatch three.sh\n"
        "if [ $a ]; then\n  sbatch four.sh | tail -1\nfi\n"
        "sbatch five.sh && echo ok\n"
        "c=${b##* }\n"
        'sbatch "six.sh\n'
    )
    calls, aliases = driver.submissions(text(content))
    assert [(one.words, one.holder, one.conditional, one.garbled) for one in calls] == [
        (("one.sh",), "a", False, False),
        (("two.sh", "x"), "b", False, False),
        (("four.sh",), "", True, False),
        (("five.sh",), "", False, False),
        ((), "", False, True),
    ]
    assert aliases == {"c": "b"}
    assert driver.variables("$a:${b}:$$:$1x") == ("a", "b")
    assert driver.submissions(text("id=$(echo $out | awk '{print $4}')\n"))[1] == {"id": "out"}


@pytest.mark.parametrize(
    ("written", "filled", "unknown"),
    [
        ("${a}-${b.c}-${l[1]}", "1-true-y", ()),
        ("\\${a} ${a", "${a} ${a", ()),
        ("${x} ${b}", "${x} ${b}", ("x", "b")),
        ("${l[9]}${n}", "${l[9]}", ("l[9]",)),
    ],
)
def test_templates_of_dvc(written: str, filled: str, unknown: tuple[str, ...]) -> None:
    context: dict[str, object] = {"a": 1, "b": {"c": True}, "l": ["x", "y"], "n": None}
    assert templates.fill(written, context) == (filled, unknown)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "inner"), [("${a.b}", "a.b"), ("x${a}", ""), ("${a}${b}", ""), ("a", "")]
)
def test_a_template_that_is_the_whole_text(written: str, inner: str) -> None:
    assert templates.whole(written) == inner


@pytest.mark.parametrize(
    ("written", "filled", "unknown"),
    [
        ("$$5 ${A:-x} ${B-y} ${C} $D ${E:?no} $", "$5 x y ${C} ${D} ${E} $", ("C", "D", "E")),
        ("${open", "${open", ()),
        ("$1", "$1", ()),
    ],
)
def test_variables_of_compose(written: str, filled: str, unknown: tuple[str, ...]) -> None:
    assert composevalues.fill(written) == (filled, unknown)


def test_quantities() -> None:
    assert quantities.binary_size("1.5g") == 3 << 29
    assert quantities.binary_size("2 GiB") == 2 << 30
    assert quantities.binary_size("0") is None
    assert quantities.binary_size("lots") is None
    assert quantities.thousandths("0.5") == 500
    assert quantities.thousandths("x") is None
    assert quantities.at_least("8+") == ("8", True)
    assert quantities.decimal("1.2.3") is None
    assert quantities.decimal("٣") is None


def test_names_become_ids_of_their_own() -> None:
    ids = Ids()
    assert [ids.give(name) for name in ("a b", "a-b", "a  b", "日本", "x" * 70, "x" * 70)] == [
        "a-b",
        "a-b-2",
        "a-b-3",
        "step",
        "x" * 64,
        "x" * 62 + "-2",
    ]
    assert ids.of("a b") == "a-b"
    assert ids.of("never") is None
    assert legal("...", "job") == "job"


def test_writers_of_folders_and_files() -> None:
    writers = Writers()
    writers.add("data", "one")
    writers.add("out/a/x", "two")
    writers.add("./out/a/x", "three")
    assert writers.apart("data/train.csv") == ("one",)
    assert writers.apart("data") == ()
    assert writers.apart("out") == ("two", "three")
    assert writers.apart("out/ab") == ()
    assert list(writers.several()) == ["out/a/x"]


def test_keys_that_nobody_asks_for_are_told() -> None:
    source, notes = text("a: 1\nb: {c: [1, {d: 2}]}\nx-y: 3\nz: -1\n"), Notes()
    table = Table(source, documents(source)[0], notes)
    inner = table.table("b")
    assert inner is not None
    assert inner.texts("c") == ("1",)
    assert table.number("z") is None
    assert table.text("absent") is None
    table.close({"a": "not wanted"})
    assert [one.line() for one in notes.all_left()] == [
        "f:1:1: a: not wanted",
        "f:2:12: b.c: an item that is no single value",
        "f:4:1: z: a number of 0 or more is expected",
    ]


def test_a_merge_key_that_is_written_over_is_read_and_told() -> None:
    source, notes = text("base: &b {a: 1, c: 2}\nuse:\n  a: 3\n  <<: *b\n"), Notes()
    inner = Table(source, documents(source)[0], notes).table("use")
    assert inner is not None
    assert (inner.text("a"), inner.text("c")) == ("3", "2")
    assert [one.places[0].line for one in notes.all_left()] == [4]


def test_equal_statements_are_joined() -> None:
    source, notes = text("a\nb\n"), Notes()
    for start in (2, 0, 0):
        notes.left(source, Span(start, start + 1), "w\n", "because\x1b")
    (only,) = notes.all_left()
    assert only.line() == "f:1:1: w\\n: because\\x1b (2 places)"
    assert one_line("x" * 100) == "x" * 72 + "..."


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ("python a.py 'b c'", Command(line="python a.py 'b c'")),
        ("a | b", Command(script="a | b")),
        ("a\nb\n", Command(script="a\nb")),
        ("[[ -f x ]] && y", Command(script="[[ -f x ]] && y")),
        ("it's", Command(script="it's")),
    ],
)
def test_commands(written: str, command: Command) -> None:
    assert shell_command(written, text("x"), Span(0, 1), Notes()) == command


def test_words_stay_words() -> None:
    where = text("x"), Span(0, 1), Notes()
    assert words_command(("a", "b c"), *where) == Command(argv=("a", "b c"))
    assert words_command(("a", "b"), *where) == Command(line="a b")
    assert words_command(("a", "$B"), *where) == Command(argv=("a", "$B"))


def test_secrets_are_names_only() -> None:
    found = Environment(Notes())
    for name, value in (
        ("A", "1"),
        ("API_KEY", "0f9e8d7c6b5a4938"),
        ("DB_PASSWORD", "$FROM"),
        ("no name", "x"),
    ):
        found.add(name, value, text("x"), Span(0, 1))
    assert found.pairs() == (("A", "1"),)
    assert tuple(found.secrets) == ("API_KEY",)
    found.add("WHOLE", "${WHOLE}", text("x"), Span(0, 1))
    assert tuple(found.secrets) == ("API_KEY", "WHOLE")


def test_what_is_standing_is_what_the_largest_step_holds() -> None:
    steps = (
        Step("a", Command(line="x"), gpu=Gpu(4), cpu_m=500),
        Step("b", Command(line="x"), gpu=Gpu(2, "l4"), memory_bytes=5),
        Step("c", Command(), needs=("a", "a", "nobody", "c"), expected_ns=3 * 10**9),
    )
    notes = Notes()
    draft = complete(Draft("n", "f", steps), notes)
    assert standing_gpu(draft) == Gpu(4, "l4")
    assert standing_cpu_m(draft) == 1000
    assert standing_memory(draft) == 5
    last = draft.steps[2]
    assert (last.needs, last.timeout_ns) == (("a",), 60 * 10**9)
    assert last.command.argv[:2] == ("sh", "-c")
    assert len(notes.all_taken()) == 3


def test_demands_beyond_all_machines_are_left_out() -> None:
    notes = Notes()
    most = Step("a", Command(line="x"), gpu=Gpu(10**7), cpu_m=10**10, memory_bytes=2**61, timeout_ns=10**19)
    (step,) = complete(Draft("n", "f", (most,)), notes).steps
    assert (step.gpu, step.cpu_m, step.memory_bytes, step.timeout_ns) == (None, None, None, 24 * HOUR_NS)
    assert "memory: left out where it is more than any machine has" in notes.all_taken()


def test_scripts_that_no_block_can_hold_are_quoted() -> None:
    scripts = (" a\nb", "a\x07b\nc", "\nx", "a: #b", "{{ x }}", "a\r\nb", "- a\n\n\n  b")
    steps = tuple(Step(f"s{at}", Command(script=one)) for at, one in enumerate(scripts))
    made = write(Draft("n", "f", steps), "slurm", left=(), taken=())
    tree = parse(text(made))
    assert not tree.problems
    assert write(Draft("n", "f", steps), "slurm", left=(), taken=()) == made


def test_a_script_from_standard_input_is_kept_whole() -> None:
    slurm = next(kind for kind in kinds() if kind.name == "slurm")
    notes = Notes()
    source = text("#!/bin/bash\n#SBATCH -J x\necho $HOME\n", "<stdin>")
    draft = slurm.read((source,), {}, notes)
    assert draft.steps[0].command == Command(argv=("bash", "-c", "echo $HOME"))
