"""The report of a run with GPUs: settlement, heat, memory, failures, as text, data and page."""

from __future__ import annotations

import json
import re

import pytest

from dsec.auditfile import append
from dsec.core.contention import Blocked
from dsec.events import Exit, Notice, RunEnd, RunStart, Spawn, encode
from dsec.inventory import Device, Inventory
from dsec.journal import Header, header_payload, record
from dsec.plan import Budget
from dsec.planfile import save_plan, seal
from tests.dag.test_page import dom, needs_browser

GPUS = tuple(
    Device(f"GPU-{at}", at, "H100", "h100-sxm-80gb", 80 * 2**30, None, None, None, (), 1000, "ok")
    for at in range(2)
)
SECOND = 1_000_000
PRICES = """\
currency: EUR
gpu: {h100-sxm-80gb: 3.60, other: 1}
cpu: 0.036
beyond:
  - {from: 0%, factor: 2}
"""


def reading(at, busy):
    return {
        "uuid": f"GPU-{at}", "busy_permille": busy, "memory_used_bytes": 2**30, "memory_total_bytes": 2**31
    }  # fmt: skip


@pytest.fixture
def run(job, kit):
    """A run of two Steps on two GPUs for half an hour: one failed, its log has markup."""
    gpu = kit.demand(gpu_count=2)
    plan = kit.plan(kit.step("train", demand=gpu), kit.step("check", "train", demand=gpu))
    plan = seal(
        plan._replace(
            inventory=Inventory("nvml", 2000, None, None, None, GPUS, ()), budget=Budget(None, 1_800_000)
        )
    )
    folder = job.run_dir
    (folder / "logs").mkdir(parents=True)
    save_plan(str(folder / "plan.json"), plan)
    both = ("GPU-0", "GPU-1")
    events = (
        RunStart(0, 1, 1, 1, "gone", 1_000_000, False),
        Spawn(0, "train", 0, 1, 7, 0, 0, both, "logs/train@0.1.log", ""),
        Notice(60 * SECOND, "budget", "", -1, "", "0.90 of 0.50 GPU-hours are used, and how far the run is "
               "is not known: it goes on"),
        Exit(1800 * SECOND, "train", 0, 1, "ok", 0, None, "", 1800 * SECOND, SECOND, 9, None, None, None),
        Spawn(1800 * SECOND, "check", 0, 1, 8, 0, 0, both, "logs/check@0.1.log", ""),
        Exit(1801 * SECOND, "check", 0, 1, "exit", 3, None, "", SECOND, 5, 9, None, None, None),
        RunEnd(1801 * SECOND, "failed", "check@0"),
    )  # fmt: skip
    header = Header("j", plan.hash, str(job.folder), 1, "gone")
    journal = record(header_payload(header)) + b"".join(record(encode(event)) for event in events)
    (folder / "journal").write_bytes(journal)
    (folder / "logs" / "check@0.1.log").write_text("".join(f"line {at} </script><b>\n" for at in range(40)))
    for at in range(0, 1801, 60):
        append(
            str(folder / "audit"),
            "j",
            {
                "at_us": at * SECOND,
                "session": 1,
                "devices": [reading(0, 1000), reading(1, 250 if at else None)],
                "steps": [
                    {"step": "train", "iteration": 0, "rss_bytes": at * 2**20, "devices": {"GPU-0": 2**30}}
                ],
                "own": {"executor_cpu_us": at * 1000, "monitor_cpu_us": at * 1000},
            },
        )
    (job.folder / "prices.yaml").write_text(PRICES)
    return job


def test_the_settlement_is_that_of_the_journal(run):
    found = json.loads(run.dsec("report", "j", "--prices", "prices.yaml", "--json"))["settlement"]
    held = 2 * 1801 * SECOND
    assert found["used_gpu_us"] == held == sum(cell["held_us"] for cell in found["cells"])
    assert found["over_gpu_us"] == held - 1800 * SECOND
    assert found["cost_millionths"] == 3_602_000 == sum(cell["cost_millionths"] for cell in found["cells"])
    assert found["surcharge_millionths"] == 1_802_000
    assert found["bill_millionths"] == 5_404_000
    assert found["hidden"] == {
        "between_gpu_us": 0,
        "between_millionths": 0,
        "executor_cpu_us": 1_800_000,
        "monitor_cpu_us": 1_800_000,
        "cpu_millionths": 36,
    }
    idle = found["opportunity"]
    assert idle["measured_gpu_us"] == 3600 * SECOND  # nothing was read in the last second
    assert idle["idle_gpu_us"] == 1350 * SECOND
    assert idle["idle_millionths"] == 1_350_000


def test_the_text_tells_cost_heat_and_what_happened(run):
    out = run.dsec("report", "j", "--prices", "prices.yaml")
    assert "GPU-hours held: 1.00, 0.5006 more than max_gpu_hours (0.5000)" in out
    assert "| train | 1.00 | 100% | 3.60 EUR |" in out
    assert "| GPU 1 h100-sxm-80gb | 0.5003 | 50% | 1.80 EUR |" in out
    assert "Cost: 5.40 EUR (3.60 EUR for what was held, 1.80 EUR beyond max_gpu_hours" in out
    assert "stood idle (1.35 EUR of the cost)" in out
    assert re.search(r"GPU 0 h100-sxm-80gb  busy    █{60}", out)
    assert re.search(r"GPU 1 h100-sxm-80gb  busy    ··▂{58}|GPU 1 h100-sxm-80gb  busy    ·+▂+", out)
    assert "- at 1m00s: 0.90 of 0.50 GPU-hours are used" in out
    zh = run.dsec("report", "j", "--lang", "zh")
    assert "## 结算" in zh
    assert "费用：未知" in zh
    assert (run.run_dir / "report.md").read_text().count("## Settlement") == 1


def test_without_prices_no_cost_is_known(run):
    out = run.dsec("report", "j")
    assert "Cost: unknown, as there are no prices" in out
    assert "0.00 EUR" not in out
    found = json.loads(run.dsec("report", "j", "--output", "json"))["settlement"]
    assert (found["currency"], found["bill_millionths"], found["cost_millionths"]) == (None, None, None)


def test_the_users_prices_are_taken_where_they_are(run, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / ".ds").mkdir()
    (home / ".ds" / "prices.yaml").write_text("currency: CNY\ngpu: 7.2\n")
    run.env["HOME"] = str(home)
    assert "Cost: 7.20 CNY" in run.dsec("report", "j")
    assert "Cost: 5.40 EUR" in run.dsec("report", "j", "--prices", "prices.yaml")


def data_of(page):
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def test_the_page_holds_all_and_loads_nothing(run):
    assert run.dsec("report", "j", "--prices", "prices.yaml", "--output", "html", "-o", "r.html") == ""
    page = (run.folder / "r.html").read_text()
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page)
    assert "line 39 </script><b>" not in page
    found = data_of(page)["run"]
    assert [bar[6] for bar in found["bars"]] == ["ok", "exit"]
    told = found["account"]
    [failure] = told["failures"]
    assert failure["text"] == "exited with code 3"
    assert len(failure["lines"]) == 20
    assert failure["lines"][-1] == "line 39 </script><b>"
    assert told["settlement"]["bill_millionths"] == 5_404_000
    assert [row["name"] for row in told["heat"]] == ["GPU 0 h100-sxm-80gb", "GPU 1 h100-sxm-80gb"]
    assert max(point[2] or 0 for point in told["curves"][0]["points"]) == 1800 * 2**20
    assert told["remarks"][0]["at_ms"] == 60_000


def test_a_run_without_gpus_has_a_page_too(job, kit):
    job.run(kit.plan(kit.step("A"), kit.step("B", "A")))
    (job.folder / "dsandbox.yaml").write_text("this is no contract any more")
    page = job.dsec("report", "j", "--output", "html")
    assert data_of(page)["run"]["account"]["settlement"] is None
    assert "## Settlement" not in job.dsec("report", "j")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gpu: 1", "prices.yaml:1: the prices lacks? .*currency|prices.yaml:1: .*currency"),
        ("currency: EUR\ngpu: cheap", "prices.yaml:2: this must be a number above 0"),
        ("currency: EUR\ngpu: {h999: 1}", "prices.yaml:2: no GPU type is called 'h999'"),
        ("currency: EUR\ngpu: 1\ncpus: 2", "prices.yaml:3: unknown key 'cpus' in the prices"),
        ("currency: EUR\ngpu: 1\nbeyond: [{from: 10, factor: 2}]", "prices.yaml:3: this must be a share"),
        ("currency: EUR\ngpu: 1\nbeyond: [{from: 9%, factor: 2}, {from: 1%, factor: 3}]", "no later than"),
        ("currency: EUR\ngpu: 1\nbeyond: [{factor: 0.5}]", "a factor below 1"),
        ("a: [", "prices.yaml: "),
        ("", "prices.yaml"),
        ("---\na: 1\n---\nb: 1\n", "it holds several documents"),
    ],
)
def test_a_wrong_file_of_prices_is_one_line(run, text, why):
    (run.folder / "prices.yaml").write_text(text)
    out = run.dsec("report", "j", "--prices", "prices.yaml", expect=3)
    assert re.search(why, out), out
    assert len(out.splitlines()) == 1
    assert "no such file" in run.dsec("report", "j", "--prices", "nowhere.yaml", expect=3).lower()


def test_a_torn_audit_and_a_wrong_one_are_left_out(run):
    with (run.run_dir / "audit").open("ab") as file:
        file.write(b'{"at_us": 5, "sess')
    assert "## Use of the GPUs" in run.dsec("report", "j")
    (run.run_dir / "audit").write_bytes(b"\0\0\0")
    out = run.dsec("report", "j")
    assert "## Use of the GPUs" not in out
    assert "how much of it stood idle is unknown" in out


@needs_browser
def test_a_browser_shows_the_report(run, tmp_path):
    """The picture as a browser has built it; a script that fails leaves it empty."""
    page = run.dsec("report", "j", "--prices", "prices.yaml", "--output", "html")
    built = dom(page, tmp_path, "?view=report&theme=dark")
    shown = built.partition('<article id="report"')[2].partition("</article>")[0]
    assert re.findall("<h2>(.*?)</h2>", shown) == [
        "Failures", "What happened", "Use of the GPUs", "Memory of the Steps", "Settlement"
    ]  # fmt: skip
    assert shown.count("<canvas") == 4
    assert "line 39 &lt;/script&gt;&lt;b&gt;" in shown
    assert "5.40 EUR" in shown
    assert '<path d="M' in shown
    first = dom(page, tmp_path)
    assert '<article id="report" aria-label="Report" tabindex="0" hidden=""' in first
    assert first.count('class="node ') == 2


BLOCKED = (
    Blocked("save", "train", "device", "259:1", 2400, 3, 900),
    Blocked("save", "save", "gil-sync", "259:1", 310, 1, 310),
)


def test_who_held_up_whom_has_a_section_of_its_own(run):
    """Only of a run that had a probe; that nothing was seen is said, too."""
    page = run.dsec("report", "j", "--output", "html")
    assert data_of(page)["run"]["account"]["contention"] is None
    kept = run.run_dir / "contention.json"
    kept.write_text(
        json.dumps({"format": "dsec.contention/1", "blocked": [one._asdict() for one in BLOCKED]})
    )
    first, second = data_of(run.dsec("report", "j", "--output", "html"))["run"]["account"]["contention"]
    assert (first["step"], first["by"], first["ms"]) == ("train", "save", 2400)
    assert first["text"].startswith("save blocked train for 2400 ms by fsync on device")
    assert "under Python's lock" in second["text"]


@needs_browser
def test_a_browser_shows_who_held_up_whom(run, tmp_path):
    (run.run_dir / "contention.json").write_text(
        json.dumps({"format": "dsec.contention/1", "blocked": [one._asdict() for one in BLOCKED]})
    )
    built = dom(run.dsec("report", "j", "--output", "html"), tmp_path, "?view=report")
    shown = built.partition("<h2>Waits for what was not in use</h2>")[2].partition("</section>")[0]
    assert shown.count('class="wait"') == 2
    assert "save blocked train for 2400 ms" in shown
