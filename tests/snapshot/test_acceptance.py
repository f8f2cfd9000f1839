"""Values that are none after all stay accepted; tokens leave every text; names beat prefixes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsec.store import Store
from dsec_cli.snapshot import acceptance
from dsec_cli.snapshot.diff import compare
from dsec_cli.snapshot.redaction import Redactor
from dsec_cli.snapshot.sections.environment import holds_secret

from .kit import KEY, all_bytes, repository, scene, site, take
from .shell import Shell

DRAWN = "Xx3dE5fG7h" + "J9kL1mN3pQ"
TOKEN = "gh" + "p_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("VLLM_API_KEY", DRAWN, True),
        ("RAY_AUTH_TOKEN", DRAWN, True),
        ("NCCL_PASSWORD", DRAWN, True),
        ("HF_HUB_TOKEN", DRAWN, True),
        ("TORCH_SECRETS", "short1", True),
        ("PYTHON_KEYRING_PASS", "x", True),
        ("CUDA_apiKey", DRAWN, True),
        ("TF_CREDS", "a b c", True),
        ("UCX_MYPASSWORD", "hunter", True),
        ("HF_HUBTOKEN", DRAWN, True),
        ("JAX_SESSION", "word", True),
        ("RAY_REDIS_PASSWORD", "12345678", True),
        ("VLLM_DSN", "https://h/1", True),
        ("SGLANG_ADMIN_KEY", "plain words", True),
        ("XLA_COOKIE", "a", True),
        ("ACCELERATE_ODD", DRAWN, True),
        ("MASTER_KEY", "abc", True),
        ("HF_HUB_TOKEN_PATH", "not-a-path", True),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("VLLM_MAX_NUM_BATCHED_TOKENS", "8192", False),
        ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", False),
        ("NCCL_IB_PKEY", "0", False),
        ("OMP_NUM_THREADS", "8", False),
        ("HF_HUB_TOKEN_PATH", "/home/a/token", False),
        ("PYTHONPATH", "/opt/keys:/opt/b", False),
        ("CUDA_VISIBLE_DEVICES", "GPU-8f2a1b3c-11d2-4e5f-9a8b-7c6d5e4f3a2b", False),
        ("LD_PRELOAD", "libx.so.1", False),
        ("XLA_FLAGS", "--xla_gpu_autotune_level=4", False),
        ("PYTHON_KEYRING_BACKEND", "null", False),
    ],
)
def test_a_name_that_says_secret_beats_every_prefix(name: str, value: str, hidden: bool) -> None:
    assert holds_secret(name, value) is hidden


def test_variables_and_folders(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "x = 1\n"})
    sites = [site(tmp_path / f"site-{TOKEN}", {"torch": "2.4"})]
    environ = {"VLLM_API_KEY": DRAWN, "PYTHONPATH": f"/opt/{TOKEN}", "CUDA_HOME": "/usr/local/cuda"}
    view = take(scene(folder, store, state, sites=sites, environ={"HOME": str(state), **environ}), "v1")
    data = view.side("environment").data
    assert set(data["hidden"]) == {"HOME", "VLLM_API_KEY"}
    assert data["values"]["CUDA_HOME"] == "/usr/local/cuda"
    assert "<redacted:" in str(view.side("dependencies").data["path"])
    store.close()
    for where, content in all_bytes(state):
        assert DRAWN.encode() not in content, where
        assert TOKEN.encode() not in content, where


def test_one_that_was_in_the_clear_is_not_shown(tmp_path: Path, store: Store, state: Path) -> None:
    """A snapshot of an earlier version has the value; a difference to it tells nothing of it."""
    folder = repository(tmp_path / "p", {"a.py": "x = 1\n"})
    environ = {"HOME": str(state), "VLLM_API_KEY": DRAWN}
    view = take(scene(folder, store, state, environ=environ), "v1")
    other = take(scene(folder, store, state, environ={**environ, "OMP_NUM_THREADS": "8"}), "v2")
    side = view.side("environment")
    old = side.data["values"] | {"VLLM_API_KEY": DRAWN}
    data = {"values": old, "hidden": {"HOME": side.data["hidden"]["HOME"]}}
    from dsec_cli.snapshot.section import Pair
    from dsec_cli.snapshot.sections import environment

    found = list(environment.compare(Pair(side._replace(data=data), other.side("environment"))))
    assert DRAWN[:8] not in str(found)
    assert [(one.subject, one.kind) for one in found] == [
        ("OMP_NUM_THREADS", "added"),
        ("VLLM_API_KEY", "unknown"),
    ]
    assert compare(view, other)


@pytest.mark.battery
def test_what_was_accepted_stays_so(shell: Shell) -> None:
    (shell.project / "a.py").write_text(f'api_key = "{DRAWN}"\n')

    def create(name: str, more: str = "") -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(shell.ok(f"snapshot create --name {name} --json {more}"))[
            "redactions"
        ]
        return found

    (row,) = create("one")
    assert "is no digest" in shell.ok("snapshot create --accept xyz", 2)
    assert create("two", f"--accept {row['digest']}") == create("three") == []
    shell.ok("snapshot restore three --to out")
    assert DRAWN in (shell.project / "out" / "a.py").read_text()
    (shell.project / ".dsec" / "accepted.json").unlink()
    assert {one["where"] for one in create("four")} == {"a.py", "out/a.py"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": "dsec.accepted/9", "digests": []}', "null", "[1]"]
)
def test_a_list_that_cannot_be_read_accepts_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "accepted.json").write_text(text)
    assert acceptance.accepted(str(tmp_path), KEY) == ()
    acceptance.remember(str(tmp_path), ["0123456789abcdef"], KEY)
    assert acceptance.accepted(str(tmp_path), KEY) == ("0123456789abcdef",)
    assert acceptance.accepted(str(tmp_path), b"o" * 32) == ()


def test_a_list_that_came_with_the_repository_accepts_nothing(tmp_path: Path) -> None:
    """Whoever got a snapshot knows the digests in it."""
    digest = "0123456789abcdef"
    for digests in ([digest], {digest: ""}, {digest: digest}, {digest: None}, {digest: "0" * 32}):
        document = {"format": acceptance.FORMAT, "digests": digests}
        (tmp_path / "accepted.json").write_text(json.dumps(document))
        assert acceptance.accepted(str(tmp_path), KEY) == ()


def test_somebody_elses_list_accepts_nothing(tmp_path: Path) -> None:
    digest = Redactor(b"o" * 32).digest(DRAWN.encode())
    clean, found = Redactor(KEY, (digest,)).file(f'api_key = "{DRAWN}"'.encode(), "a.py")
    assert found
    assert DRAWN.encode() not in clean
