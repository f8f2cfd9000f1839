"""How far values are followed, one line of Python at a time."""

from __future__ import annotations

import pytest

HOSTS = {
    "loader": (
        "from langchain_community.document_loaders import WebBaseLoader as L; L(['https://h.com/a'])",
        {"h.com:443"},
    ),
    "alias": ("import requests as r; r.get('https://h.com/x')", {"h.com:443"}),
    "from": ("from requests import get as g; g('http://h.com/x')", {"h.com:80"}),
    "port": ("import httpx; httpx.post('http://h.com:8080/x')", {"h.com:8080"}),
    "user": ("import requests; requests.get('https://me:pw@h.com/x')", {"h.com:443"}),
    "address-6": ("import requests; requests.get('http://[::2]:81/x')", {"::2:81"}),
    "upper": ("import requests; requests.get('HTTPS://H.COM')", {"h.com:443"}),
    "base": ("import httpx; c = httpx.Client(base_url='https://h.com/v1'); c.get('/x')", {"h.com:443"}),
    "base-not-used": (
        "import httpx; c = httpx.Client(base_url='https://h.com'); c.get('https://i.com/x')", {"i.com:443"}
    ),
    "session": ("import requests\nwith requests.Session() as s:\n s.delete('https://h.com')", {"h.com:443"}),
    "aiohttp": (
        "import aiohttp\nasync def f():\n async with aiohttp.ClientSession('https://h.com') as s:\n"
        "  async with s.get('/x') as a: pass", {"h.com:443"},
    ),
    "annotated": ("import requests\ndef f(s: requests.Session): s.get('https://h.com')", {"h.com:443"}),
    "unknown-client": ("def f(c): c.post('https://h.com/x')", {"h.com:443"}),
    "websocket": ("import websockets; websockets.connect('wss://h.com/x')", {"h.com:443"}),
    "socket": ("import socket; s = socket.socket(); s.connect(('h.com', 81))", {"h.com:81"}),
    "socket-with": (
        "import socket\nwith socket.create_connection(('h.com', 82), 3) as s: pass", {"h.com:82"}
    ),
    "mail": ("import smtplib; smtplib.SMTP_SSL('h.com')", {"h.com:465"}),
    "redis": ("import redis; redis.Redis(port=1)", {"localhost:1"}),
    "redis-url": ("import redis; redis.from_url('rediss://h.com')", {"h.com:6379"}),
    "postgres": ("import psycopg; psycopg.connect('host=h.com port=1 dbname=x')", {"h.com:1"}),
    "postgres-keywords": ("import psycopg2; psycopg2.connect(host='h.com')", {"h.com:5432"}),
    "mongo": ("import pymongo; pymongo.MongoClient()", {"localhost:27017"}),
    "grpc": ("import grpc; grpc.insecure_channel('h.com:50051')", {"h.com:50051"}),
    "ssh": ("import paramiko; c = paramiko.SSHClient(); c.connect('h.com')", {"h.com:22"}),
    "pandas": ("import pandas as pd; pd.read_csv('https://h.com/x.csv')", {"h.com:443"}),
    "urlopen": ("from urllib import request; request.urlopen('https://h.com')", {"h.com:443"}),
    "hub": ("import transformers as t; t.AutoModel.from_pretrained('a/b')", {"huggingface.co:443"}),
    "hub-offline": (
        "import transformers as t; t.AutoModel.from_pretrained('a/b', local_files_only=True)", set()
    ),
    "sum": ("import requests\nH = 'h.com'\nrequests.get('https://' + H + '/x')", {"h.com:443"}),
    "percent": ("import requests; requests.get('https://%s/%d' % ('h.com', 3))", {"h.com:443"}),
    "format": ("import requests; requests.get('https://{0}/{x}'.format('h.com', x=1))", {"h.com:443"}),
    "template": ("import requests\np = 81\nrequests.get(f'http://h.com:{p}/')", {"h.com:81"}),
    "join": ("import requests\nfrom urllib.parse import urljoin\nrequests.get(urljoin('https://h.com', 'x'))", {"h.com:443"}),
    "choice": ("import requests; requests.get('https://a.com' if x else 'https://b.com')", {"a.com:443", "b.com:443"}),
    "or": ("import requests\nu = None or 'https://h.com'\nrequests.get(u)", {"h.com:443"}),
    "assigned-twice": ("import requests\nu = 'https://a.com'\nu = 'https://b.com'\nrequests.get(u)", {"a.com:443", "b.com:443"}),
    "unpacked": ("import requests\nh, p = 'h.com', 81\nrequests.get(f'http://{h}:{p}')", {"h.com:81"}),
    "nested-dict": ("import requests\nC = {'a': {'u': 'https://h.com'}}\nrequests.get(C['a']['u'])", {"h.com:443"}),
    "dict-get": ("import requests\nC = dict(u='https://h.com')\nrequests.get(C.get('u'))", {"h.com:443"}),
    "list-item": ("import requests\nC = ['http://a.com', 'http://b.com']\nrequests.get(C[1])", {"b.com:80"}),
    "loop-pairs": (
        "import socket\nfor h, p in [('a.com', 1), ('b.com', 2)]: socket.create_connection((h, p))",
        {"a.com:1", "b.com:2"},
    ),
    "global": ("import requests\nU = ''\ndef f():\n global U\n U = 'https://h.com'\nrequests.get(U)", {"h.com:443"}),
    "nonlocal-name": ("import requests\nu = 'https://a.com'\ndef f():\n u = 'https://b.com'\n requests.get(u)", {"b.com:443"}),
    "default": ("import requests\ndef f(u='https://h.com'): requests.get(u)\nf()", {"h.com:443"}),
    "calls-apart": (
        "import socket\ndef f(h, p=9): socket.create_connection((h, p))\nf('a.com', 1)\nf('b.com')",
        {"a.com:1", "b.com:9"},
    ),
    "method": (
        "import requests\nclass C:\n def __init__(self, h): self.h = h\n def g(self): requests.get('https://' + self.h)\n"
        "C('h.com').g()", {"h.com:443"},
    ),
    "objects-apart": (
        "import socket\nclass C:\n def __init__(self, h, p):\n  self.h = h\n  self.p = p\n"
        " def g(self): socket.create_connection((self.h, self.p))\nC('a.com', 1).g()\nC('b.com', 2).g()",
        {"a.com:1", "b.com:2"},
    ),
    "returned-for-one-call": (
        "import requests\ndef f(h): return 'https://' + h\nrequests.get(f('a.com'))\nx = f('b.com')", {"a.com:443"}
    ),
    "dataclass": (
        "import requests\nfrom dataclasses import dataclass\n@dataclass\nclass C:\n h: str = 'a.com'\n"
        "requests.get('https://' + C().h)\nrequests.get('https://' + C(h='b.com').h)\nrequests.get('https://' + C('c.com').h)",
        {"a.com:443", "b.com:443", "c.com:443"},
    ),
    "overridden": (
        "import requests\nclass A:\n h = 'a.com'\n def g(self): requests.get('https://' + self.h)\nclass B(A):\n h = 'b.com'\nB().g()",
        {"a.com:443", "b.com:443"},
    ),
    "comprehension": ("import requests\n[requests.get(u) for u in ('http://a.com', 'http://b.com')]", {"a.com:80", "b.com:80"}),
    "inherited-client": ("import httpx\nclass C(httpx.Client):\n def g(self): self.get('https://h.com')", {"h.com:443"}),
    "not-ours": ("class requests:\n @staticmethod\n def get(u): pass\nrequests.get('https://h.com')", set()),
    "a-dictionary": ("d = {}\nd.get('https://h.com')", set()),
    "prefix": ("import requests\ndef f(p): requests.get('https://h.com' + p)", {"h.com:443"}),
    "file-address": ("import pandas; pandas.read_csv('file:///x.csv')", set()),
    "bytes": ("import requests; requests.get(b'https://h.com')", {"h.com:443"}),
    "attribute-by-name": ("import requests; getattr(requests, 'get')('https://h.com')", {"h.com:443"}),
    "module-by-name": ("import importlib\nimportlib.import_module('requests').get('https://h.com')", {"h.com:443"}),
    "dunder-import": ("r = __import__('requests'); r.get('https://h.com')", {"h.com:443"}),
    "to-thread": ("import asyncio, requests\nasync def f(): await asyncio.to_thread(requests.get, 'https://h.com')", {"h.com:443"}),
    "executor": ("import requests\ndef f(loop): loop.run_in_executor(None, requests.get, 'https://h.com')", {"h.com:443"}),
    "submitted": ("import requests\ndef f(pool): pool.submit(requests.post, 'https://h.com', timeout=1)", {"h.com:443"}),
    "thread": ("import threading, requests\nthreading.Thread(target=requests.get, args=('https://h.com',)).start()", {"h.com:443"}),
    "partial": ("from functools import partial\nimport requests\np = partial(requests.get, 'https://h.com')", {"h.com:443"}),
    "alias-handed-on": ("import asyncio, requests\ng = requests.get\nasyncio.to_thread(g, 'https://h.com')", {"h.com:443"}),
    "alias-of-either": ("import requests\ng = requests.get if x else requests.post\ng('https://h.com')", {"h.com:443"}),
    "fields-of-options": ("import argparse\na = argparse.ArgumentParser().parse_args()\nif a.save: print(a.get, a.open)", set()),
    "key-of-a-sort": ("def f(d): return max(d, key=d.get)", set()),
    "classes-handed-on": ("import httpx\nclass C(httpx.Client): pass\nisinstance(x, httpx.Client)", set()),
    "sqlite": ("import sqlalchemy; sqlalchemy.create_engine('sqlite:///x.db')", set()),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTS)
def test_hosts(name: str, reading) -> None:
    text, want = HOSTS[name]
    needs = reading.needs(a=text)
    assert not needs.unread
    assert {f"{one.host}:{one.port}" for one in needs.egress} == want
    assert all(one.host for one in needs.egress)


UNKNOWN = {
    "parameter": ("import requests\ndef f(u): requests.get(u)", "no call in the project gives a.f its u"),
    "handed-on": ("import requests\ndef f(u): requests.get(u)\nf('https://h.com')\nmap(f, x)", "a.f is handed on"),
    "input": ("import requests\nrequests.get(input())", "it is computed"),
    "undefined": ("import requests\nrequests.get(nowhere)", "nowhere is defined nowhere"),
    "environment": ("import os, requests\nrequests.get(os.environ['U'])", "environment variable U"),
    "tool": (
        "import requests\nfrom langchain_core.tools import tool\n@tool\ndef f(u): requests.get(u)\nf('https://h.com')",
        "u is chosen by whoever calls f",
    ),
    "part-of-the-host": ("import requests\ndef f(r): requests.get(f'https://{r}.h.com/')", "the host (*.h.com) is not known"),
    "prefix": ("import requests\ndef f(p): requests.get('https://h.com' + p)", "what follows h.com"),
    "itself": ("import requests\nu = u\nrequests.get(u)", "depends on itself"),
    "stars": ("import requests\nrequests.get(*x)", "given by * or **"),
    "function-handed-on": ("import requests\nmap(requests.get, x)", "it is handed on, and called elsewhere"),
    "function-kept": ("import requests\nclass C:\n def __init__(self, f=requests.get): self.f = f", "it is handed on"),
    "partial-without": ("from functools import partial\nimport requests\np = partial(requests.get, timeout=3)", "it is handed on"),
    "no-port": ("import requests\nrequests.get('http://h.com:99999/')", "99999 is no port"),
    "word-for-port": ("import requests\nrequests.get('http://h.com:web/')", "web is no port"),
    "yielded": ("import requests\ndef f():\n yield 'https://h.com'\nrequests.get(f())", "a.f yields it"),
    "other-module": ("import requests\nfrom b import u\nrequests.get(u)", "u is not found in b.py"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_hosts_say_why(name: str, reading) -> None:
    text, want = UNKNOWN[name]
    needs = reading.needs(a=text, b="v = 1")
    assert [one.kind for one in needs.unknowns] == ["egress"]
    assert want in needs.unknowns[0].reason


def test_a_computed_name_of_a_library_is_said(reading) -> None:
    needs = reading.needs(a="import os, sys\ngetattr(os, sys.argv[1])('x')\nf = getattr(os, x)\nf()")
    assert [(one.what, one.fixed) for one in needs.execution] == [("function", False)] * 2
    harmless = reading.needs(a="import math\ngetattr(math, x)(1)\nclass C:\n def f(self): getattr(self, x)()")
    assert not harmless.execution


@pytest.mark.parametrize(
    ("made", "runs"),
    [
        ("UserProxyAgent('u')", True),
        ("UserProxyAgent('u', code_execution_config=False)", False),
        ("UserProxyAgent('u', code_execution_config={'use_docker': False})", True),
        ("AssistantAgent('a')", False),
        ("ConversableAgent('a', **options)", True),
        ("ConversableAgent('a', code_execution_config={'work_dir': 'x'})", True),
    ],
)
def test_agents_that_run_what_a_model_writes(made: str, runs: bool, reading) -> None:
    needs = reading.needs(a=f"import autogen\nautogen.{made}")
    assert [(one.what, one.fixed) for one in needs.execution] == [("code", False)] * runs


@pytest.mark.parametrize("taken", ["os.environ.copy()", "os.environ.items()", "dict(os.environ)"])
def test_all_of_the_environment(taken: str, reading) -> None:
    [one] = reading.needs(a=f"import os\nx = {taken}").unknowns
    assert (one.kind, one.reason) == ("environment", "all of the environment is taken")


FILES = {
    "open": ("open('a/b.txt')", {"read a/b.txt"}),
    "write": ("open('a.txt', 'w')", {"write a.txt"}),
    "both": ("open('a.txt', mode='r+')", {"read a.txt", "write a.txt"}),
    "folder": ("from pathlib import Path\nP = Path('a') / 'b'\n(P / 'c.txt').write_text('')", {"write a/b/c.txt"}),
    "own-folder": ("from pathlib import Path\nopen(Path(__file__).parent / 'd' / 'x')", {"read d/x"}),
    "joined": ("import os\nopen(os.path.join('/w', 'a', '..', 'b'))", {"read /w/b"}),
    "rooted-part": ("import os\nopen(os.path.join('/w', '/x'))", {"read /x"}),
    "none-or-folder": ("import os\ndef f():\n if x: return None\n return '/w'\nopen(os.path.join(f(), 'a'))", {"read /w/a"}),
    "home": ("from pathlib import Path\nPath('~/x').expanduser().read_bytes()", {"read ~/x"}),
    "part": ("def f(n): open(f'out/{n}.txt', 'a')", {"write out/*.txt"}),
    "move": ("import shutil\nshutil.move('a', 'b')", {"delete a", "write b"}),
    "rename": ("from pathlib import Path\nPath('a').rename('b')", {"delete a", "write b"}),
    "delete": ("import os\nos.remove('a')", {"delete a"}),
    "torch": ("import torch\ntorch.save(m, 'm.pt')", {"write m.pt"}),
    "numpy": ("import numpy as np\nnp.save('r.npy', 1)", {"write r.npy"}),
    "frame": ("def f(frame): frame.to_csv('r.csv')", {"write r.csv"}),
    "buffer": ("import io, numpy\nnumpy.load(io.BytesIO(b''))", set()),
    "descriptor": ("open(3)", set()),
    "database": ("import sqlite3\nsqlite3.connect('x.db')", {"read x.db", "write x.db"}),
    "temporary": ("import tempfile\nwith tempfile.TemporaryDirectory() as d: open(d + '/x', 'w')", {"write /tmp/*/x"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, reading) -> None:
    text, want = FILES[name]
    assert {f"{one.mode} {one.path}" for one in reading.needs(a=text).files} == want


PROGRAMS = {
    "list": ("import subprocess\nsubprocess.run(['git', 'log'])", {("git", False, True)}),
    "text": ("import subprocess\nsubprocess.run('ls')", {("ls", False, True)}),
    "shell": ("import subprocess\nsubprocess.run('a | b && X=1 c', shell=True)", {("a", True, True), ("b", True, True), ("c", True, True)}),
    "system": ("import os\nos.system('rm -rf x')", {("rm", True, True)}),
    "part": ("import os\ndef f(x): os.system('ls ' + x)", {("ls", True, False)}),
    "unknown": ("import os\ndef f(x): os.system(x)", {(None, True, False)}),
    "python": ("import subprocess, sys\nsubprocess.Popen([sys.executable, 'x.py'])", {("python", False, True)}),
    "async": ("import asyncio\nasync def f(x): await asyncio.create_subprocess_exec('ls', x)", {("ls", False, False)}),
    "exec": ("import os\nos.execvp('ls', ['ls'])", {("ls", False, True)}),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, reading) -> None:
    text, want = PROGRAMS[name]
    found = reading.needs(a=text).subprocesses
    assert {(one.program, one.shell, one.fixed) for one in found} == want


RUNS = {
    "eval": ("def f(x): eval(x)", {("code", False)}),
    "fixed": ("exec('x = 1')", {("code", True)}),
    "pickle": ("import pickle\npickle.load(open('x', 'rb'))", {("data", False)}),
    "torch": ("import torch\ntorch.load('x')", {("data", True)}),
    "torch-safe": ("import torch\ntorch.load('x', weights_only=True)", set()),
    "yaml": ("import yaml\nyaml.load(x, yaml.Loader)", {("data", False)}),
    "yaml-safe": ("import yaml\nyaml.load(x, Loader=yaml.SafeLoader)", set()),
    "yaml-safe-load": ("import yaml\nyaml.safe_load(x)", set()),
    "numpy": ("import numpy\nnumpy.load('x')", set()),
    "import": ("import importlib\ndef f(x): importlib.import_module(x)", {("import", False)}),
    "import-fixed": ("import importlib\nimportlib.import_module('json')", set()),
    "remote": ("import datasets\ndatasets.load_dataset('x', trust_remote_code=True)", {("download", False)}),
    "method": ("def f(model): model.eval()", set()),
}


@pytest.mark.parametrize("name", RUNS)
def test_execution(name: str, reading) -> None:
    text, want = RUNS[name]
    assert {(one.what, one.fixed) for one in reading.needs(a=text).execution} == want


PORTS = {
    "bind": ("import socket\ns = socket.socket()\ns.bind(('', 80))", {("", 80)}),
    "uvicorn": ("import uvicorn\nuvicorn.run('a:app')", {("127.0.0.1", 8000)}),
    "http": ("from http.server import *\nimport http.server as h\nh.HTTPServer(('0.0.0.0', 81), None)", {("0.0.0.0", 81)}),
    "flask": ("import flask\napp = flask.Flask('a')\napp.run(port=82)", {("127.0.0.1", 82)}),
    "stdio": ("from mcp.server.fastmcp import FastMCP\nm = FastMCP('a')\nm.run()", set()),
    "sse": ("from mcp.server.fastmcp import FastMCP\nm = FastMCP('a', port=83)\nm.run(transport='sse')", {(None, 83)}),
    "unknown": ("import socket\ndef f(p):\n s = socket.socket()\n s.bind(('', p))", {("", None)}),
}  # fmt: skip


@pytest.mark.parametrize("name", PORTS)
def test_listens(name: str, reading) -> None:
    text, want = PORTS[name]
    assert {(one.host, one.port) for one in reading.needs(a=text).listens} == want


def test_reached_by_tool_entry_module_and_nobody(reading) -> None:
    text = (
        "from langchain_core.tools import tool\n"
        "def deep(): open('deep')\n"
        "def middle(): deep()\n"
        "@tool\ndef t(): middle()\n"
        "def main(): deep()\n"
        "def lonely(): open('lonely')\n"
        "def run(): open('run')\n"
        "run()\n"
        "class Handler:\n def handle(self): open('handled')\n"
        "Handler().handle()\n"
    )
    reached = {one.path: one.reached for one in reading.needs(a=text).files}
    assert reached == {
        "deep": ("main", "t"), "lonely": ("unreached",), "run": ("module",), "handled": ("module",),
    }  # fmt: skip


def test_entries_of_the_contract_reach_too(reading) -> None:
    from dsec_cli.code.analyse import analyse

    project = reading.project(a="def step(path): open(path)\nstep('x')")._replace(entries=("a:step",))
    needs = analyse(project)
    assert [one.reached for one in needs.files] == [("a:step",)]
    assert "path is chosen by whoever calls a:step" in needs.unknowns[0].reason


def test_variables_that_are_given_are_filled_in(reading) -> None:
    from dsec_cli.code.analyse import analyse

    text = "import os, requests\nrequests.get(f\"https://{os.environ['H']}/{os.getenv('V', 'v1')}\")"
    project = reading.project(a=text)._replace(environment={"H": "h.com"})
    assert [one.host for one in analyse(project).egress] == ["h.com"]


def test_places_count_characters_not_bytes(reading) -> None:
    needs = reading.needs(a="名 = '日本'; open('x')\n")
    place = needs.files[0].place
    assert (place.start.line, place.start.column, place.end.column) == (1, 11, 15)
    assert (place.span.start, place.span.end) == (10, 14)
