"""Files of other kinds are told by more than one key, and contracts with slips are none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec_cli.commands.opened import open_contract
from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText

FOREIGN = [
    (
        "name: ci\non: push\npermissions:\n  contents: read\njobs:\n  test:\n    runs-on: x\n",
        "a GitHub workflow",
    ),
    ("name: ci\n'on':\n  push:\njobs: {}\n", "a GitHub workflow"),
    ("name: a\ndescription: b\nruns: {using: composite, steps: []}\n", "a GitHub action"),
    ("image: python\nbefore_script: [x]\ntest:\n  script: [pytest]\n", "a pipeline of GitLab"),
    ("stages: [a]\ntest: {stage: a, script: x}\n", "a pipeline of GitLab"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "a Kubernetes manifest"),
    ("cluster_name: x\nmax_workers: 2\nprovider: {type: aws}\n", "a cluster configuration of Ray"),
    (
        "name: job\nentrypoint: python main.py\nworking_dir: .\ncompute_config: c\n",
        "a configuration of Anyscale",
    ),
    ("cloud: x\nhead_node: {instance_type: m5}\nworker_nodes: []\n", "a configuration of Anyscale"),
    (
        "type: task\nname: train\ncommands: [python train.py]\nresources: {gpu: 24GB}\n",
        "a configuration of dstack",
    ),
    ("type: service\nimage: x\nport: 8000\npermissions: x\n", "a configuration of dstack"),
    ("resources: {accelerators: A100:8}\nrun: python x\n", "a task of SkyPilot"),
    ("name: x\nnum_nodes: 2\nrun: python x\n", "a task of SkyPilot"),
    (
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:2\nset -e\nsrun python train.py\n",
        "a job script of Slurm",
    ),
    ("#!/usr/bin/env bash\nset -e\npython train.py: {\n", "a script"),
    ("data: {train_files: x}\nactor_rollout_ref: {}\ntrainer: {}\n", "a configuration of verl"),
    (
        "hydra: {searchpath: []}\ndefaults:\n  - ppo_trainer\n  - _self_\ndata: {}\n",
        "a configuration of Hydra",
    ),
    ("defaults:\n  - model: a\n  - _self_\nlr: 1\n", "a configuration of Hydra"),
    ("experiment_name: x\ntrial_name: y\nseed: 1\ncluster: {n_nodes: 1}\n", "a configuration of AReaL"),
    (
        "model_name_or_path: x\nstage: sft\nfinetuning_type: lora\noutput_dir: o\n",
        "a configuration of a training framework",
    ),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n", "a configuration of Accelerate"),
    ('{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}\n', "a configuration of DeepSpeed"),
    ("services:\n  a: {image: x}\nvolumes: {}\nnetworks: {}\nconfigs: {}\n", "a compose file"),
    ("task: x\ndataset_path: y\noutput_type: z\n", "a task of an evaluation harness"),
    ("output_dir: x\ntokenizer:\n  _component_: a.b\n", "a configuration of a training framework"),
    ("version: 2.1\njobs: {build: {docker: []}}\nworkflows: {}\n", "a pipeline of CircleCI"),
    ("trigger: [main]\npool: {vmImage: x}\nsteps: [{script: x}]\n", "a pipeline of Azure"),
    ("dataset_name: x\ninclude: a.yaml\ntask: b\n", "a file of another kind"),
    ("mmlu-algebra: {id: a}\nmmlu-anatomy: {id: b}\n", "a file of another kind"),
    ("version: 2\nlinters: {enable: [a]}\nrun: {timeout: 5m}\nseverity: x\n", "a file of another kind"),
    # One key of a contract, or near one, among those of something else.
    (
        "checkpoints: {}\ndata_stages: []\ngeneral: {run: x}\nlogging: {}\nmodel: {}\noptimizer: {}\n"
        "parallelism: {dp: 2}\ntokens: {micro_batch_size: 2, train_steps: 15}\n",
        "a file of another kind",
    ),
    ("interactions:\n- request: {method: POST}\nversion: 1\n", "a file of another kind"),
    ("provider: a.b.Client\nconfig: {model: x}\n", "a file of another kind"),
    ("group: g\ntask: [a, b]\naggregate_metric_list: []\nmetadata: {version: 1}\n", "a file of another kind"),
    ("name: Bug\ndescription: b\ntype: bug\nlabels: [x]\nbody: []\n", "a file of another kind"),
    ("parameters: {}\njobs:\n- job: Build\n  displayName: b\n", "a file of another kind"),
    ("version: '0.2'\ndebug_mode: false\nlogger: x\nweb: {}\n", "a file of another kind"),
    ("plugins: [a.b.C]\nsequence_len: 512\nsample_packing: true\nlr: 1\n", "a file of another kind"),
    ("entrypoint: python x\nparams: {}\nseed: 1\nlr: 2\nmodel_name: y\n", "a file of another kind"),
    ("base: x\nlayers: {}\nvocabulary: 9\nheads: 3\nembedding: y\ndropout: 0\n", "a file of another kind"),
]


def findings(text: str, name: str = "x.yaml") -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in lint(SourceText(name, text.encode()))]


@pytest.mark.parametrize(("text", "what"), FOREIGN, ids=range(len(FOREIGN)))
def test_one_line_says_what_another_file_is(text: str, what: str) -> None:
    assert findings(text) == [("DS114", f"this looks like {what}, not like a contract")]


@pytest.mark.parametrize(
    "text",
    [
        "name: p\nversion: 1.0.0\nentrypoint: e.so\n",
        "name: p\nversion: 1.0.0\nentrypoint: e.so\npermissions: [read:redis]\nsignature: s\n",
        "name: p\nbaselin: {cpu: 1}\nelasticty: {}\nsteps: []\n",
        "name: p\nbaseline: {cpu: 1}\njobs: {}\non: push\n",
        "nam: p\nversoin: '1'\n",
        "steps: [{id: a, run: x, timeout: 1m}]\nresource: {cpu: 1}\n",
        "model: x\nruntime: y\n",
        "gpu: {count: 2}\nmemory: 64Gi\nrun: python x\n",
        "team: a\nowner: b\nlabels: {}\npriority: 1\nqueue: q\nstep: [{id: a, run: x}]\n",
        "dependency: [{name: m, source: hf://a/b}]\nauthor: x\n",
        "# a comment\n#!/bin/sh\nname: x\n",
    ],
)
def test_a_contract_with_slips_stays_one(text: str) -> None:
    assert "DS114" not in {code for code, _ in findings(text)}


@pytest.mark.parametrize(("kind", "text"), [("slurm", FOREIGN[13][0]), ("skypilot", FOREIGN[11][0])])
def test_the_importer_is_named(kind: str, text: str) -> None:
    (found,) = lint(SourceText("f", text.encode()))
    assert found.help == f"dsec import {kind} f makes a contract of it"


PYTHON = '"""Roll out: sample, score."""\nimport os\n\ndef main():\n    print("x: y")\n'
TEXTS = [
    ("rollout.py", PYTHON, "a Python file"),
    ("rollout", PYTHON, "a Python file"),
    ("<stdin>", PYTHON, "a Python file"),
    ("dsandbox.yaml", "import os\nimport sys\nx = {1: 2}\n", "a Python file"),
    ("a/b/rollout.py", "# only a comment\n", "a Python file"),
    ("x.py", "\ufeffimport os\r\nimport re\r\n", "a Python file"),
    ("tool", "#!/usr/bin/env python3\nprint({1: 2})\n", "a Python file"),
    ("train.sh", "python train.py\n", "a shell script"),
    ("train", "set -euo pipefail\nexport X=1: 2\npython train.py\n", "a shell script"),
    ("job.sbatch", "#SBATCH --nodes=2\nsrun x\n", "a job script of Slurm"),
    ("pyproject.toml", '[tool.x]\na = 1\nb = "c"\n', "a TOML file"),
    ("settings", '[tool.x]\na = 1\nb = "c"\n', "a TOML file"),
    ("c.json", '{"a": [1, 2]}', "a JSON file"),
    ("c.json", "[1, 2]", "a JSON file"),
    ("c.json", '{"zero_optimization": {"stage": 3}}', "a configuration of DeepSpeed"),
    ("board.json", '{"version": 39, "panels": [], "title": "x"}', "a JSON file"),
    ("rows.jsonl", '{"a": 1}\n{"a": 2}\n', "a JSON Lines file"),
    ("x.ipynb", '{"cells": [], "nbformat": 4}', "a notebook"),
    ("package.json", '{"name": "x", "version": "1.0.0", "scripts": {}}', "a package.json"),
    ("conf.py", 'version: str = "1"\nname: str = "x"\nimport os\nprint({)\n', "a Python file"),
    ("README.md", "---\nname: x\n---\n# Title: [\n- [ ] x\n", "a Markdown file"),
    ("Dockerfile", "FROM python\nRUN echo\n", "a Dockerfile"),
    ("README.md", "# Title\n\nsome: text\n- [ ] x\n", "a Markdown file"),
]


@pytest.mark.parametrize(("name", "text", "what"), TEXTS, ids=range(len(TEXTS)))
def test_what_is_no_yaml_is_one_finding(name: str, text: str, what: str) -> None:
    assert findings(text, name) == [("DS114", f"this looks like {what}, not like a contract")]


def test_python_is_for_dsec_code() -> None:
    (found,) = lint(SourceText("rollout.py", PYTHON.encode()))
    assert found.help.startswith("dsec code reads the Python of a folder")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.md", "baseline: {cpu: 1}\n"),
        ("contract.json", '{"steps": [{"id": "a", "run": "true"}]}'),
        ("contract.j2", "version: '1.0.0'\nname: x\nsteps: []\n"),
        ("x.yaml", "steps:\n  - id: a\n    run: |\nset -e\nexport X=1\necho $X\n"),
        ("x.yaml", "name: x\n[broken]\na = 1\nb = 2\n"),
        ("x.py", ""),
        ("contract.json", '{"versoin": "1.0.0", "stpes": []}'),
        ("contract.json", '{"version": "1.0.0", "name": "x"}'),
        ("job.conf", "versoin: '1'\nstpes: []\n"),
        ("x.yaml", "  name: x\n  steps:\n  - id: a\n    run: |\nset -e\nexport X=1\n"),
        ("x.txt", "hello"),
    ],
)
def test_what_has_a_key_of_a_contract_is_one_whatever_its_name(name: str, text: str) -> None:
    assert "DS114" not in {code for code, _ in findings(text, name)}


@pytest.mark.parametrize(
    "text",
    [
        "x-a: &common {image: x}\nservices:\n  a: {image: x}\n  b: &unused {image: y}\n",
        "apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\nx: &z 1\n---\nfoo: &y 2\n",
        "name: {{ .Values.x }}\napiVersion: v1\n",
        "on: push\njobs:\n  a: {x: 1}\n  a: {x: 2}\npermissions: {contents: read}\n",
        "apiVersion: v1\nkind: A \t\n\n\n\n",
    ],
)
def test_of_a_file_of_another_kind_nothing_else_is_said(text: str) -> None:
    assert [code for code, _ in findings(text)] == ["DS114"]


def test_a_contract_behind_a_file_of_another_kind_is_checked() -> None:
    codes = {code for code, _ in findings("apiVersion: v1\nkind: A\n---\nname: x\nbaseline: {cpu: many}\n")}
    assert {"DS114", "DS104"} <= codes


def test_run_and_plan_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "rollout.py").write_text(PYTHON)
    opened = open_contract(str(tmp_path / "rollout.py"))
    (part,) = opened.parts
    assert [one.code for one in lint(part.text, reading=part.reading)] == ["DS114"]
