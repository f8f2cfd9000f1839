"""What a contract loads reaches the plan, through both readers and into its hash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec import planfile, quickplan
from dsec.errors import StoredFormError
from dsec.inventory import Inventory
from dsec.plan import Dependency, Source
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.graph import step_graph

BOX = Inventory("os", 2000, 2**33, None, None, (), ())
ORIGIN = Origin("dsandbox.yaml", (b"x",), "dsec 0", lambda path: Source("dsandbox.yaml", 1 + len(path), 1))
SHA = "sha256:" + "0" * 64


def compiled(make, dependencies):
    contract = make.contract([make.step("A")], name="job", dependencies=tuple(dependencies))
    return compile_plan(order_steps(step_graph(contract)), contract, inventory=BOX, origin=ORIGIN, learned={})


def stated(make, text):
    return compiled(make, make.read("dependencies:\n" + text, "dsandbox.yaml").dependencies)


def test_each_entry_is_in_the_plan_in_order_with_its_place(make):
    plan = stated(
        make,
        "- {name: reward, version: 1.3.0, type: model, source: 'ds://models/reward', hash: '" + SHA + "'}\n"
        "- {package: numpy, version: '>=1.26,<3'}\n"
        "- {name: sim, version: v4.2, type: environment}\n"
        "- {package: rich}\n",
    )
    here = Source("dsandbox.yaml", 3, 1)
    assert plan.dependencies == (
        Dependency("reward", "model", "1.3.0", "ds://models/reward", SHA, here),
        Dependency("numpy", "package", ">=1.26,<3", "", "", here),
        Dependency("sim", "environment", "4.2.0", "", "", here),
        Dependency("rich", "package", "", "", "", here),
    )


def test_an_entry_without_a_name_is_left_out(make):
    assert stated(make, "- {version: 1.0.0, type: model}\n").dependencies == ()


def test_one_more_and_one_other_version_change_the_hash(make):
    none = compiled(make, ())
    one = stated(make, "- {name: a, version: 1.0.0, type: model}\n")
    other = stated(make, "- {name: a, version: 1.0.1, type: model}\n")
    assert len({none.hash, one.hash, other.hash}) == 3


def test_a_plan_without_the_key_is_refused_by_both_readers(make):
    raw = planfile.plan_bytes(compiled(make, ())).replace(b'"dependencies":[],', b"")
    with pytest.raises(StoredFormError, match="lacks 'dependencies'"):
        planfile.parse_plan(raw, where="plan.json")
    with pytest.raises(StoredFormError, match="lacks 'dependencies'"):
        quickplan.parse_plan(raw, name="plan.json")


TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.just('"hash":"')
ENTRY = st.builds(
    Dependency, TEXT, TEXT, TEXT, TEXT, TEXT, st.builds(Source, TEXT, st.integers(1, 9), st.integers(1, 9))
)


@given(st.lists(ENTRY, max_size=4).map(tuple))
def test_both_readers_read_what_was_written(make, dependencies):
    plan = planfile.seal(compiled(make, ())._replace(dependencies=dependencies))
    raw = planfile.plan_bytes(plan)
    assert planfile.parse_plan(raw, where="plan.json") == plan
    assert quickplan._quick(raw) == plan, "the fast reader takes it without the strict one's help"
