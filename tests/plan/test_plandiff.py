"""Differences of plans: dependencies by name, places left out."""

from dsec.inventory import Inventory
from dsec.plan import Link, Source
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.plandiff import diff, diff_text

BOX = Inventory("os", 2000, 2**33, None, None, (), ())
OLD = "dependencies:\n- {package: numpy, version: '>=1.26'}\n- {name: sim, version: 1.0.0, type: tool}\n"


def compiled(make, text, *, file="dsandbox.yaml"):
    dependencies = make.read(text, "dsandbox.yaml").dependencies
    contract = make.contract([make.step("A")], name="job", dependencies=dependencies)
    origin = Origin(file, (b"x",), "dsec 0", lambda path: Source(file, 1 + len(path), 1))
    return compile_plan(order_steps(step_graph(contract)), contract, inventory=BOX, origin=origin, learned={})


def test_another_file_is_no_other_dependency(make):
    found = diff(compiled(make, OLD), compiled(make, OLD, file="other.yaml"))
    assert [change.field for change in found.plan] == ["contract_file"]


def test_a_dependency_differs_by_its_own_fields(make):
    new = OLD.replace("1.26", "2.0") + "- {package: rich}\n"
    text = diff_text(diff(compiled(make, OLD), compiled(make, new)))
    assert "dependencies.package numpy.version: >=1.26 -> >=2.0" in text
    assert "dependencies.package rich: added" in text
    assert "sim" not in text


def test_a_link_that_goes_another_way_is_one_difference(make):
    plan = compiled(make, OLD)
    link = Link("A", "B", "pcie", "SYS", "pcie across NUMA nodes", False, "GPU 0 to GPU 2: SYS")
    old = plan._replace(links=(link,))
    new = plan._replace(links=(link._replace(protocol="nvlink-p2p"),))
    [changed] = diff(old, new).plan
    assert changed == ("links.A -> B.protocol", "pcie", "nvlink-p2p")
    assert diff(old, old).plan == ()
    assert [change.field for change in diff(plan, old).plan] == ["links.A -> B"]


def test_of_lists_what_differs_is_shown(make):
    plan = compiled(make, OLD)
    [step] = plan.steps
    old = plan._replace(steps=(step._replace(reasons=("the same", "one way")),), hash="1")
    for reasons, shown in (
        (("the same", "another way"), "reasons: one way -> another way"),
        (("the same",), "reasons: removed one way"),
        (("the same", "one way", "and more"), "reasons: added and more"),
    ):
        text = diff_text(diff(old, plan._replace(steps=(step._replace(reasons=reasons),), hash="2")))
        assert text.endswith(f"    {shown}\n")
