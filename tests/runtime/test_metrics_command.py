"""Metrics of real runs: over HTTP, as a file, and as a real Prometheus sees them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

WORDS = ("run", "plan.json", "--job-id", "j")


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def held(kit, *, seconds=60):
    """A plan whose second Step waits for a file."""
    wait = f"for i in $(seq {seconds * 10}); do test -e go && exit 0; sleep 0.1; done; exit 1"
    return kit.plan(kit.step("A"), kit.step("B", "A", shell=wait))


def url_of(process):
    line = process.stdout.readline().decode()
    return re.fullmatch(r"metrics: (http://127\.0\.0\.1:\d+/metrics)\n", line)[1]


def test_a_run_is_served_while_it_lasts(job, kit):
    job.save(held(kit))
    process = job.start(*WORDS, "--metrics-port", "0")
    url = url_of(process)
    text = kit.wait_for(
        lambda: (found := get(url)).count('dsec_step_instances{step="B",state="running"} 1') and found
    )
    assert 'dsec_step_duration_seconds_count{step="A"} 1' in text
    assert 'dsec_run_state{state="running"} 1' in text
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        get(url.replace("metrics", "other"))
    caught.value.close()
    (job.folder / "go").touch()
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0, out
    with pytest.raises(OSError, match=r"refused|reset"):
        get(url)
    assert exporters(job, kit) == []


def test_the_file_tells_the_end_and_is_replaced_as_a_whole(job, kit):
    job.run(kit.plan(kit.step("A"), count=3), "--metrics-file", "m.prom", "--metric-compat")
    text = (job.folder / "m.prom").read_text()
    assert 'dsec_run_state{state="succeeded"} 1' in text
    assert 'dsec_step_instances{step="A",state="done"} 3' in text
    assert "dsec_sandbox_utilization_rate 0" in text
    assert [name for name in job.folder.iterdir() if ".tmp" in name.name] == []
    assert (job.run_dir / "exporter.log").read_text() == ""


def test_a_run_whose_executor_was_killed_is_dead(job, kit):
    job.save(held(kit))
    process = job.start(*WORDS, "--metrics-file", "m.prom", "--quiet")
    kit.wait_for(lambda: any(event["step"] == "B" for event in began(job)))
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    kit.wait_for(lambda: 'dsec_run_state{state="dead"} 1' in read(job.folder / "m.prom"))
    kit.wait_for(lambda: not exporters(job, kit))
    (job.folder / "go").touch()
    job.dsec("resume", "j", "--metrics-file", "m.prom")
    text = (job.folder / "m.prom").read_text()
    assert 'dsec_run_state{state="succeeded"} 1' in text
    assert re.search(r"^dsec_snapshot_recovery_seconds 0\.\d+", text, re.MULTILINE)


def began(job):
    try:
        return job.events("spawn")
    except OSError:
        return []


def read(path):
    return path.read_text() if path.exists() else ""


@pytest.mark.battery
def test_nothing_starts_where_metrics_cannot_be_shown(job, kit):
    job.save(kit.plan(kit.step("A")))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = str(taken.getsockname()[1])
        assert "cannot be served" in job.dsec(*WORDS, "--metrics-port", port, expect=3)
    assert "no port" in job.dsec(*WORDS, "--metrics-port", "http", expect=2)
    assert "no port" in job.dsec(*WORDS, "--metrics-port", "70000", expect=2)
    assert "nothing can be written" in job.dsec(*WORDS, "--metrics-file", "none/m.prom", expect=3)
    assert "is a folder" in job.dsec(*WORDS, "--metrics-file", ".", expect=3)
    assert "names no place" in job.dsec(*WORDS, "--metric-compat", expect=2)
    assert not job.run_dir.exists()


def test_a_real_prometheus_scrapes_a_run_and_raises_an_alert(job, kit):
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed (Debian: prometheus)")
    plan = held(kit)
    job.save(plan._replace(steps=(plan.steps[0], plan.steps[1])))
    run = job.start(*WORDS, "--metrics-port", "0")
    target = re.search(r"//(.*)/metrics", url_of(run))[1]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rules = {"alert": "Going", "expr": 'dsec_run_state{state="running"} == 1'}
    (job.folder / "rules.yml").write_text(json.dumps({"groups": [{"name": "g", "rules": [rules]}]}))
    shutil.copy(kit.root / "docs/monitoring/alerts.yml", job.folder)
    (job.folder / "prometheus.yml").write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": ["rules.yml", "alerts.yml"],
                "scrape_configs": [{"job_name": "dsec", "static_configs": [{"targets": [target]}]}],
            }
        )
    )
    words = [program, "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    server = subprocess.Popen(
        [*words, f"--web.listen-address=127.0.0.1:{port}"],
        cwd=job.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:

        def ask(path):
            try:
                return json.loads(get(f"http://127.0.0.1:{port}/api/v1/{path}"))["data"]
            except urllib.error.HTTPError as problem:  # 503: it is still starting
                problem.close()
            except OSError:
                pass
            return None

        def result():
            found = ask('query?query=dsec_step_instances{state="running",step="B"}')
            return found and found["result"] and found["result"][0]["value"][1] == "1"

        kit.wait_for(result, seconds=60)
        kit.wait_for(lambda: any(one["state"] == "firing" for one in ask("alerts")["alerts"]), seconds=60)
        up = ask("targets")["activeTargets"][0]
        assert (up["health"], up["lastError"]) == ("up", "")
        assert all(rule["health"] == "ok" for group in ask("rules")["groups"] for rule in group["rules"])
    finally:
        server.terminate()
        server.wait(timeout=30)
    (job.folder / "go").touch()
    run.communicate(timeout=60)
    assert run.returncode == 0


@pytest.mark.battery
def test_a_process_that_dies_is_started_anew_at_the_same_place(job, kit):
    job.save(held(kit))
    process = job.start(*WORDS, "--metrics-port", "0", "--metrics-file", "m.prom")
    url = url_of(process)
    killed = set()
    for _ in range(4):
        (pid,) = kit.wait_for(lambda: [one for one in exporters(job, kit) if one not in killed])
        killed.add(pid)
        kit.wait_for(lambda: 'dsec_run_state{state="running"} 1' in get(url))
        os.kill(pid, signal.SIGKILL)
    (notice,) = kit.wait_for(lambda: job.events("notice"))
    assert notice["detail"] == "this run goes on without metrics: it was killed by signal 9"
    (job.folder / "go").touch()
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0, out
    assert exporters(job, kit) == []


def exporters(job, kit):
    return kit.writing_to(job.run_dir / "exporter.log")
