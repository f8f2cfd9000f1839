"""Edges from needs, files and communication; carried edges; what break_cycle cuts."""

import pytest

from dsec_cli.dag.graph import step_graph


def pairs(edges):
    return [(edge.source, edge.target, edge.kind) for edge in edges]


def test_edges_know_their_kind_and_where_they_are_stated(make):
    contract = make.read(
        "steps:\n"
        "  - {id: A, run: a, outputs: ['x/one.npy']}\n"
        "  - {id: B, run: b, needs: [A], inputs: ['./x//one.npy']}\n"
        "  - {id: C, run: c}\n"
        "communication:\n"
        "  - {from: B, to: C, protocol: nvlink-p2p}\n"
    )
    edges = step_graph(contract).edges
    assert [(e.source, e.target, e.kind, e.path, e.via) for e in edges] == [
        ("A", "B", "order", ("steps", 1, "needs", 0), ""),
        ("A", "B", "data", ("steps", 1, "inputs", 0), "./x//one.npy"),
        ("B", "C", "communication", ("communication", 0), "nvlink-p2p"),
    ]


@pytest.mark.parametrize(
    ("output", "read", "edge"),
    [
        ("a/b", "a/b", True),
        ("a/b", "./a/b/", True),
        ("a/b", "a/bc", False),
        ("a/b", "a", True),
        ("a/b", "./a/", True),
        ("a/b/c", "a", True),
        ("{run}/a/b-{iteration}", "{run}/a", True),
        ("{run}/a-{iteration}/b", "{run}/a-{iteration}/", True),
        ("a-b", "a", False),
        ("a/b", ".", False),
        ("{run}/b", "{run}", False),
        ("{run}/", "{run}/b", False),
        ("a/", "a/b/c", True),
        ("a", "a/b", True),
        ("/a/b", "a/b", False),
        ("b", "x/../b", True),
        ("x/./y/../../b", ".//b", True),
        ("a/../b/", "b/c", True),
        ("../b", "b", False),
        ("./", "/b", False),
        ("../b", "x/../../b", True),
        ("/../b", "/b", True),
        ("{run}/x/../b", "{run}/b", True),
        ("{run}/../b", "b", False),
        ("{run}/x-{iteration}/../b", "{run}/b", True),
        ("{run}/x-{iteration}", "{run}/x-{iteration}", True),
        ("{run}/x-{iteration}", "{run}/x-{previous}", False),
        ("{run}/x-{iteration}", "{run}/x-0", False),
    ],
)
def test_a_file_makes_an_edge_when_it_is_the_same_file(make, output, read, edge):
    steps = [make.step("W", outputs=[output]), make.step("R", inputs=[read], at=1)]
    found = pairs(step_graph(make.contract(steps)).edges)
    assert found == ([("W", "R", "data")] if edge else [])


def test_a_previous_input_is_carried_also_of_the_step_itself(make):
    steps = [
        make.step("S1", inputs=["p-{previous}"], outputs=["r-{iteration}"]),
        make.step("S2", inputs=["r-{iteration}", "p-{previous}"], outputs=["p-{iteration}"], at=1),
    ]
    graph = step_graph(make.contract(steps))
    assert pairs(graph.edges) == [("S1", "S2", "data")]
    assert pairs(graph.carried) == [("S2", "S1", "data"), ("S2", "S2", "data")]


def test_another_spelling_of_a_path_hides_no_cycle_and_no_carried_edge(make):
    steps = [
        make.step("S1", inputs=["{run}/old/../p-{previous}", "x/../m"], outputs=["{run}//r"]),
        make.step("S2", inputs=["{run}/./r"], outputs=["{run}/p-{iteration}", "./m"], at=1),
    ]
    graph = step_graph(make.contract(steps))
    assert pairs(graph.edges) == [("S2", "S1", "data"), ("S1", "S2", "data")]
    assert pairs(graph.carried) == [("S2", "S1", "data")]


def test_carried_needs_and_iterations_carried(make):
    contract = make.read(
        "steps:\n"
        "  - {id: A, run: a, needs: [{step: B, carried: true}]}\n"
        "  - {id: B, run: b, needs: [A]}\n"
        "iterations: {count: 3, carried: [{from: B, to: B}, {from: Z, to: A}]}\n"
    )
    graph = step_graph(contract)
    assert pairs(graph.edges) == [("A", "B", "order")]
    assert [(e.source, e.target, e.path) for e in graph.carried] == [
        ("B", "A", ("steps", 0, "needs", 0)),
        ("B", "B", ("iterations", "carried", 0)),
    ]


def test_a_step_that_rewrites_its_input_does_not_wait_for_itself(make):
    steps = [make.step("S", inputs=["m"], outputs=["m"])]
    assert step_graph(make.contract(steps)).edges == ()


def test_unknown_needs_and_repeated_ids_are_left_out(make):
    steps = [make.step("A"), make.step("A", ["B"], at=1), make.step("B", ["nobody", "A"], at=2)]
    graph = step_graph(make.contract(steps))
    assert [step.id for step in graph.steps] == ["A", "B"]
    assert pairs(graph.edges) == [("A", "B", "order")]


def ring(make, **last):
    return make.contract(
        [make.step("A", ["C"], **last), make.step("B", ["A"], at=1), make.step("C", ["B"], at=2)]
    )


def test_break_point_cuts_all_edges_between_the_two(make):
    first = make.step("A", ["B"], inputs=["m"], break_cycle=True, break_point="B")
    graph = step_graph(make.contract([first, make.step("B", ["A"], outputs=["m"], at=1)]))
    assert pairs(graph.edges) == [("A", "B", "order")]
    assert pairs(graph.cuts) == [("B", "A", "order"), ("B", "A", "data")]
    assert graph.carried == graph.cuts
    assert graph.misplaced == ()


def test_break_cycle_without_a_point_takes_the_only_edge_on_a_cycle(make):
    graph = step_graph(ring(make, break_cycle=True))
    assert pairs(graph.cuts) == [("C", "A", "order")]


@pytest.mark.parametrize(
    ("fields", "problem", "part"),
    [
        ({"break_point": "C"}, "does nothing without break_cycle", "break_point"),
        ({"break_cycle": True, "break_point": "X"}, "is no Step", "break_point"),
        ({"break_cycle": True, "break_point": "B"}, "does not wait for", "break_point"),
    ],
)
def test_a_cut_that_cannot_be_made_is_told_and_changes_nothing(make, fields, problem, part):
    graph = step_graph(ring(make, **fields))
    assert graph.cuts == ()
    assert len(graph.edges) == 3
    [misplaced] = graph.misplaced
    assert problem in misplaced.problem
    assert misplaced.path == ("steps", 0, part)
    assert misplaced.candidates == ("C",)


def test_break_cycle_off_every_cycle_and_between_two_cycles(make):
    off = make.contract([make.step("A"), make.step("B", ["A"], at=1, break_cycle=True)])
    assert "is on no cycle" in step_graph(off).misplaced[0].problem
    straight = make.contract([make.step("A"), make.step("B", ["A"], at=1, break_cycle=True, break_point="A")])
    assert "lies on no cycle" in step_graph(straight).misplaced[0].problem
    two = make.contract(
        [
            make.step("A", ["B", "C"], break_cycle=True),
            make.step("B", ["A"], at=1),
            make.step("C", ["A"], at=2),
        ]
    )
    [misplaced] = step_graph(two).misplaced
    assert "must name one" in misplaced.problem
    assert misplaced.candidates == ("B", "C")


@pytest.mark.parametrize(
    ("output", "read", "problem"),
    [
        ("{run}/p-{iteration}", "{run}/p-{iteration}", True),
        ("{run}/it-{iteration}/", "{run}/it-{iteration}/p", True),
        ("{run}/it-{iteration}/p", "{run}/it-{iteration}", True),
        ("{run}/p", "{run}/p", False),
        ("{run}/all/", "{run}/all/p-{iteration}", False),
    ],
)
def test_a_cut_that_leaves_a_file_of_its_own_iteration_is_no_cut(make, output, read, problem):
    steps = [
        make.step("R", inputs=[read], outputs=["r"], break_cycle=True, break_point="W"),
        make.step("W", inputs=["r"], outputs=[output], at=1),
    ]
    graph = step_graph(make.contract(steps))
    assert pairs(graph.cuts) == [("W", "R", "data")]
    assert [one.path for one in graph.misplaced] == [("steps", 0, "inputs", 0)] * problem
    assert [one.instead for one in graph.misplaced] == [read.replace("{iteration}", "{previous}")] * problem
    assert all(one.is_useless for one in graph.misplaced)


def test_a_file_that_only_its_reader_writes_in_each_iteration_is_never_there(make):
    own = make.step("S", inputs=["{run}/s-{iteration}"], outputs=["{run}/s-{iteration}"])
    assert pairs(step_graph(make.contract([own])).edges) == [("S", "S", "data")]
    first = make.step("F", outputs=["{run}/s-{iteration}"], at=1)
    assert pairs(step_graph(make.contract([own, first])).edges) == [("F", "S", "data")]
    in_place = make.step("S", inputs=["s"], outputs=["s"])
    assert not step_graph(make.contract([in_place])).edges


@pytest.mark.parametrize(
    ("steps", "iterations", "edges", "carried"),
    [
        # What is made of the content of a folder may be kept in it.
        (
            "{id: a, run: x, inputs: [data], outputs: [data/clean]},"
            " {id: b, run: x, inputs: [data/clean], outputs: [data/tok]}",
            "",
            ["ab"],
            [],
        ),
        # In the next iteration it is read from there.
        (
            "{id: a, run: x, inputs: [ck], outputs: [ck/last]},"
            " {id: b, run: x, inputs: [ck/last], outputs: [ck/eval]}",
            "iterations: {count: 3}",
            ["ab"],
            ["ba"],
        ),
        # Unless each iteration has a folder of its own.
        (
            "{id: a, run: x, inputs: ['{run}/{iteration}'], outputs: ['{run}/{iteration}/a']},"
            " {id: b, run: x, inputs: ['{run}/{iteration}/a'], outputs: ['{run}/{iteration}/b']}",
            "iterations: {count: 3}",
            ["ab"],
            [],
        ),
        # Through others, and by `needs`.
        (
            "{id: a, run: x, inputs: [d]}, {id: b, run: x, needs: [a]},"
            " {id: c, run: x, needs: [b], outputs: [d/c]}, {id: e, run: x, outputs: [d/e]}",
            "",
            ["ab", "bc", "ea"],
            [],
        ),
        # Of two who read each other's folders neither comes first.
        (
            "{id: a, run: x, inputs: [d], outputs: [e/a]}, {id: b, run: x, inputs: [e], outputs: [d/b]}",
            "",
            ["ab", "ba"],
            [],
        ),
        # A file is not there before its writer has run.
        (
            "{id: a, run: x, inputs: [d/b], outputs: [e]}, {id: b, run: x, inputs: [e], outputs: [d]}",
            "",
            ["ab", "ba"],
            [],
        ),
        # Where break_cycle says what is meant, that counts.
        (
            "{id: a, run: x, inputs: [d], outputs: [d/a], break_cycle: true, break_point: b},"
            " {id: b, run: x, inputs: [d/a], outputs: [d/b]}",
            "",
            ["ab"],
            ["ba"],
        ),
    ],
)
def test_nobody_waits_for_who_fills_a_folder_afterwards(make, steps, iterations, edges, carried):
    graph = step_graph(make.read(f"{iterations}\nsteps: [{steps}]\n"))
    assert sorted({one.source + one.target for one in graph.edges}) == edges
    assert [one.source + one.target for one in graph.carried] == carried
    assert not graph.misplaced
