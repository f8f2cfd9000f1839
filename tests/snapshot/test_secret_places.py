"""Where people leave secrets: each kind of place, in files of each kind, and in what git and pip know."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from dsec.store import Store
from dsec_cli.snapshot.package.writing import write as export
from dsec_cli.snapshot.redaction import Redactor
from dsec_cli.snapshot.restoring import restore
from dsec_cli.snapshot.secretplaces import is_drawn

from .kit import KEY, all_bytes, git, repository, scene, site, take, write

D = "x7Kq9mW2vB4nZ8pL"
WORD = "hunter2x"
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ3tLm9sPq"
BASIC = base64.b64encode(b"joe:pass").decode()
TOKEN = "ghp_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"
LINES = [f"MIIEowIBAAKCAQEA7bqPlanted{number:02}AbCdEf0123456789" for number in range(12)]
PEM = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----", ""])
AGE = "AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"
HALF = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
PART = base64.b64encode(PEM.encode()).decode()[:90]
PLACES = [
    ("n.ipynb", json.dumps({"cells": [{"source": [f'API_KEY = "{D}"\n']}]}), D),
    ("n.ipynb", json.dumps({"cells": [{"source": PEM.splitlines(keepends=True)}]}, indent=1), LINES[5]),
    ("n.ipynb", json.dumps({"cells": [{"source": PEM}]}), LINES[5]),
    ("a.py", f'K = ("-----BEGIN PRIVATE KEY-----"\n "{LINES[0]}"\n "-----END PRIVATE KEY-----")', LINES[0]),
    ("a.txt", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{LINES[0]}\n-----END PGP", LINES[0]),
    ("a.txt", AGE, AGE),
    ("a.py", f'headers = {{"Authorization": "Basic {BASIC}"}}', BASIC),
    ("a.md", f"curl -H 'Authorization: Basic {BASIC}' x", BASIC),
    ("a.md", f"curl -u joe:{WORD} https://x", WORD),
    (".aws/credentials", f"[default]\naws_secret_access_key = {AWS}\n", AWS),
    ("a.py", f'client("s3", "AKIA3KDJ7QWERTYU2ZXC", "{AWS}")', AWS),
    ("a.json", f'{{"id": "AKIA3KDJ7QWERTYU2ZXC",\n "other": "{AWS}"}}', AWS),
    (".npmrc", f"//packages.example.org/:_authToken={D}{D}\n", D),
    (".pypirc", f"[pypi]\nusername = __token__\npassword = {WORD}\n", WORD),
    ("pip.conf", f"[global]\nindex-url = https://joe:{D}@h/simple\n", D),
    ("a.py", f'AZ = "AccountName=x;AccountKey={AWS}==;EndpointSuffix=core.windows.net"', AWS),
    ("a.md", f"https://x.blob.core.windows.net/c?sv=2020&sig={D}%2B{D}%3D&se=1", D),
    ("a.md", f"https://b.s3.amazonaws.com/k?X-Amz-Signature={HALF}", HALF),
    ("a.xml", f"<password>{WORD}</password>", WORD),
    ("a.xml", f'<add key="ApiKey" value="{D}" />', D),
    ("a.yaml", f"env:\n  - name: API_KEY\n    value: {D}\n", D),
    ("a.json", json.dumps({"name": "API_KEY", "value": D}), D),
    ("a.json", json.dumps({"env": json.dumps({"api_key": D})}), D),
    ("a.tf", f'variable "db_password" {{ default = "{D}" }}', D),
    ("Dockerfile", f"ENV API_KEY {D}\n", D),
    ("Makefile", f"run:\n\tAPI_KEY={WORD} python t.py\n", WORD),
    ("a.sh", f"export API_KEY={WORD} # note\n", WORD),
    ("a.fish", f"set -x API_KEY {D}\n", D),
    ("a.py", f'os.environ.setdefault("API_KEY", "{WORD}")', WORD),
    ("a.py", f'wandb.login(key="{D}")', D),
    ("a.py", f'wandb.login(relogin=True, key="{HALF[:40]}")', HALF[:40]),
    ("a.json", f'{{"api_key": {{"value": "{HALF[:40]}"}}}}', HALF[:40]),
    ("a.py", f'openai.api_key = """{D}"""', D),
    ("a.py", f'API_KEY: str = "{D}"', D),
    ("a.py", f'parser.add_argument("--api-key", default="{D}")', D),
    ("notes.txt", f"my password: {WORD}\n", WORD),
    ("notes.txt", f"the password is {WORD}.\n", WORD),
    ("id.ppk", f"Private-Lines: 1\n{LINES[0]}\nPrivate-MAC: 00\n", LINES[0]),
    ("kube.yaml", f"client-key-data: {base64.b64encode(PEM.encode()).decode()}", PART),
]  # fmt: skip
HARMLESS = [
    ("plan.json", f'{{"id": "train", "key": "{HALF}", "inventory": "{HALF}"}}'),
    ("a.py", 'wandb.login(key=os.environ["KEY"])\n'),
    ("a.py", 'sha256 = "' + HALF + '"  # of the key file\n'),
    ("a.py", "from x import ChaCha20Poly1305 as key_cipher\n"),
    ("a.py", 'layer = "model_layers_10_attn_key_proj_weight_2"\n'),
    ("a.py", "parser.add_argument('--tokenizer-key', default='meta-llama/Llama-3-8B-Instruct')\n"),
    ("a.lock", f'{{ url = "https://h/pytoken-1.0.whl", hash = "sha256:{HALF}" }}\n'),
    ("a.md", "The password is asked for; a token: see below. `--user 1000:1000`\n"),
    ("a.py", 'if "-----BEGIN PRIVATE KEY-----" in text:\n    raise ValueError(name)\n'),
    ("a.yaml", "key: value_of_something_long_2_3_4\ntoken_budget: 128000000000\n"),
    ("a.md", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq7Kq9mW2vB4nZ8pL joe's public key\n"),
]


@pytest.mark.parametrize(("name", "text", "secret"), PLACES)
def test_each_place(name: str, text: str, secret: str) -> None:
    clean, found = Redactor(KEY).file(text.encode(), name)
    assert secret.encode() not in clean
    assert found
    assert Redactor(KEY).file(clean, name) == (clean, ())  # what stands in its place is none


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_texts(encoding: str) -> None:
    data = f'name = "é"\nAPI_KEY = "{D}"\n'.encode(encoding)
    clean, found = Redactor(KEY).file(data, "a.ps1")
    assert not any(D.encode(encoding[:6] + end) in clean for end in ("-le", "-be"))
    assert [one.line for one in found] == [2]
    assert "é" in clean.decode(encoding)
    odd = "\ud800".encode("utf-16-le", "surrogatepass") + b"k\0=\0"
    assert Redactor(KEY).file(odd, "a") == (odd, ())


def test_what_is_no_text() -> None:
    data = bytes(range(256)) * 3 + TOKEN.encode() + b"\0" + PEM.encode() + bytes(100) + AGE.encode()
    clean, found = Redactor(KEY).file(data, "model.bin")
    assert len(found) == 3
    assert not any(secret.encode() in clean for secret in (TOKEN, LINES[5], AGE))
    assert clean.startswith(bytes(range(256)) * 3)


@pytest.mark.parametrize(("name", "text"), HARMLESS)
def test_what_is_none_stays(name: str, text: str) -> None:
    assert Redactor(KEY).file(text.encode(), name) == (text.encode(), ())


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        (D, True), (AWS, True), (HALF, True), ("a" * 40, False), ("1" * 40, False),
        ("getTheKeyOfUser2", False), ("model_layers_0_attn_q", False), ("ChaCha20-Poly1305", False),
    ],
)  # fmt: skip
def test_what_looks_drawn_by_lot(value: str, drawn: bool) -> None:
    assert is_drawn(value) is drawn


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["curl", "-H", f"Authorization: Basic {BASIC}"], BASIC),
        (["curl", "-u", f"joe:{WORD}"], WORD),
        (["t", "-p", D], D),
        (["t", "--config", json.dumps({"api_key": D})], D),
        (["sh", "-c", f"API_KEY={WORD} python t.py"], WORD),
        (["t", "--password", "secretword"], "secretword"),
        (["t", "--api-key", f" {WORD}"], WORD),
        (["t", f"+wandb.api_key={D}"], D),
    ],
)
def test_command_lines(words: list[str], secret: str) -> None:
    clean, found = Redactor(KEY).argv(words)
    assert secret not in " ".join(clean)
    assert found


def test_argv_that_is_harmless() -> None:
    words = [
        "t",
        "-p",
        "8080",
        "-u",
        "1000:1000",
        "--password",
        "vault://x",
        "-k",
        "name_of_test",
        "--user",
        "joe",
    ]
    assert Redactor(KEY).argv(words) == (words, ())


def everywhere(tmp_path: Path) -> Path:
    """A repository whose secrets are in names, history, changes, submodules and links."""
    inner = repository(tmp_path / "inner", {"lib.py": "x = 1\n"})
    folder = repository(
        tmp_path / "p",
        {
            "train.py": "lr = 1\n",
            "tls/server.pem": PEM,
            "key.py": f'KEY = """\n{PEM}"""\n',
            ".env.prod": "NOTE=old words of a file\nB=2\n",
            "x.yaml": f"a: 1\napi_key: {D}\n",
            ".netrc": f"machine h login joe password {WORD}\n",
        },
    )
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(folder, "commit", "-qam", f"use {TOKEN}")
    git(folder / "sub", "remote", "set-url", "origin", f"https://{TOKEN}@h/inner.git")
    modules = (folder / ".gitmodules").read_text().replace(str(inner), f"https://joe:{WORD}@h/inner.git")
    git(folder, "switch", "-qc", f"try-{TOKEN}")
    changed = PEM.replace(LINES[6], LINES[6][::-1])
    write(
        folder,
        {
            "tls/server.pem": changed,
            "key.py": f'KEY = """\n{changed}"""\n',
            ".env.prod": "NOTE=new words of a file\nB=2\n",
            "x.yaml": "a: 1\napi_key: ${KEY}\n",
            f"notes-{TOKEN}.md": "a name\n",
            ".gitmodules": modules,
            "n.ipynb": json.dumps({"cells": [{"source": PEM.splitlines(keepends=True)}]}, indent=1),
        },
    )
    (folder / "w.ps1").write_bytes(f"$k = '{TOKEN}'".encode("utf-16"))
    (folder / "db.bin").write_bytes(bytes(64) + TOKEN.encode())
    (folder / "link").symlink_to(f"/tmp/{TOKEN}")
    (folder / ".netrc").unlink()
    return folder


def installed(tmp_path: Path) -> Path:
    """Packages with a token in an address, and one that is installed in place, whose source has a key."""
    where = site(tmp_path / "site", {"torch": "2.4", "odd": "1", "own": "1"})
    source = repository(tmp_path / "own", {"own.py": f'API_KEY = "{D}"\n', "fine.py": "y = 1\n"})
    for name, direct in (
        ("odd", {"url": f"https://h/t/{TOKEN}/x.whl?key={D}", "archive_info": {}}),
        ("own", {"url": source.as_uri(), "dir_info": {"editable": True}}),
    ):
        (where / f"{name}-1.dist-info" / "direct_url.json").write_text(json.dumps(direct))
    return where


SECRETS = (TOKEN, D, WORD, LINES[5], LINES[6], LINES[6][::-1], LINES[7], "words of a file")


def test_none_is_anywhere(tmp_path: Path, store: Store, state: Path) -> None:
    folder, sites = everywhere(tmp_path), [installed(tmp_path)]
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(state),
        "VLLM_CONFIG": json.dumps({"api_key": D}), "TORCH_EXTRA": f"Authorization=Basic {BASIC}",
        "NCCL_KEY": PEM, "MY_JSON": json.dumps({"a": json.dumps({"token": TOKEN})}),
    }  # fmt: skip
    argv = ("dsec", "run", "-u", f"joe:{WORD}", "--header", f"Authorization: Basic {BASIC}")
    view = take(scene(folder, store, state, sites=sites, environ=environ, argv=argv), "v1")
    code = view.side("code").data
    assert {one["path"] for one in code["redacted"]} >= {
        "key.py",
        "n.ipynb",
        "w.ps1",
        "db.bin",
        ".gitmodules",
    }
    assert "1 files of own hold secrets" in view.side("dependencies").reason
    assert len([one for one in code["withheld"] if "<redacted:" in one["path"]]) == 1
    export(view, str(state / "v1.dsnap"), environ={"HOME": str(tmp_path)}, recipients=[], signed=True)
    store.close()
    secrets = [one.encode() for one in (*SECRETS, BASIC)] + [TOKEN.encode("utf-16-le")]
    read = 0
    for where, data in all_bytes(state):
        read += len(data)
        for secret in secrets:
            assert secret not in data, f"{secret!r} in {where}"
    assert read > 10_000


def test_what_is_left_of_the_difference(tmp_path: Path, store: Store, state: Path) -> None:
    """Changes of files without secrets are in it."""
    folder = everywhere(tmp_path)
    write(folder, {"train.py": "lr = 2\n"})
    view = take(scene(folder, store, state), "v1")
    text = store.get_bytes(view.side("code").contents["diff"])
    assert b"+lr = 2" in text
    assert b"-api_key: <redacted:" in text
    assert b"server.pem" not in text
    assert b".env.prod" not in text


def test_restoring_brings_all_of_them_back(tmp_path: Path, store: Store, state: Path) -> None:
    folder = everywhere(tmp_path)
    found = scene(folder, store, state)
    restore(take(found, "v1"), str(tmp_path / "out"), live=str(folder), redactor=found.redactor)
    for name in ("key.py", "n.ipynb", "w.ps1", "db.bin", "x.yaml"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()
