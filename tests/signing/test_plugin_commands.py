"""keygen, sign, trust, verify, install, list, remove, as a user types them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsec_cli.commands.plugin_merging import merge, wants
from dsec_cli.source.text import SourceText
from tests import examples
from tests.plugins.building import give_maps

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = (ROOT / "examples" / "hello" / "dsandbox.yaml").read_text()
PLUGIN = """\
name: skill-manager
version: 1.0.0
entrypoint: entrypoint.so
permissions: []
baseline: {cpu: 1, memory: 256Mi}
security_policy:
  network:
    egress: [{domain: skills.example.com, ports: [443]}]
"""


class User:
    """Somebody in a folder with a contract and a plugin."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plugin = folder / "skill-manager"
        give_maps(folder / "home" / ".cache" / "dsec" / "plugin-scan")
        (folder / "dsandbox.yaml").write_text(CONTRACT)
        self.plugin.mkdir()
        (self.plugin / "plugin.yaml").write_text(PLUGIN)
        (self.plugin / "schema.json").write_text('{"input": {"type": "object"}}')
        (self.plugin / "entrypoint.so").write_bytes(b"")

    def binary(self, code: str = "int add(int a, int b) { return a + b; }\n") -> None:
        """Build the plugin's library."""
        if shutil.which("gcc") is None:
            pytest.skip("gcc is not installed")
        (self.folder / "p.c").write_text(code)
        flags = ["-shared", "-fPIC", "-O2", "-fstack-protector-strong", "-Wl,-z,relro,-z,now"]
        target = str(self.plugin / "entrypoint.so")
        subprocess.run(["gcc", *flags, "-o", target, str(self.folder / "p.c")], check=True, timeout=60)

    def dsec(self, *words: str, expect: int = 0) -> str:
        """Both outputs of a command."""
        ran = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())",
                "plugin",
                *words,
            ],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder / "home"), "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"},
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == expect, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran.stdout + ran.stderr

    def ready(self) -> None:
        """Sign the plugin with a key that is trusted."""
        self.dsec("keygen")
        self.dsec("trust", "home/.ds/keys/plugin.pub", "--name", "me", "--plugins", "skill-*")
        self.dsec("sign", "skill-manager")

    def release(self, version: str, **changes: str) -> None:
        """Sign another version."""
        text = PLUGIN.replace("1.0.0", version)
        for old, new in changes.items():
            text = text.replace(old, new)
        (self.plugin / "plugin.yaml").write_text(text)
        self.dsec("sign", "skill-manager")

    @property
    def contract(self) -> str:
        return (self.folder / "dsandbox.yaml").read_text()


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_a_plugin_lives_and_dies(user: User) -> None:
    user.binary()
    user.ready()
    assert user.dsec("verify", "skill-manager") == "skill-manager 1.0.0: trusted (signed by me)\n"
    said = user.dsec("install", "skill-manager", "--dry-run")
    assert "dry run: nothing was installed" in said
    assert user.contract == CONTRACT
    assert user.dsec("list").startswith("no plugins in ")
    said = user.dsec("install", "skill-manager")
    assert "scan: entrypoint.so uses no permission, as declared" in said
    assert "+  cpu: 2\n+  memory: 512Mi\n" in said
    assert "plugins: [{name: skill-manager}]" in user.contract
    assert "{domain: skills.example.com, ports: [443]}" in user.contract
    merged = user.contract
    assert "contract: nothing changes" in user.dsec("install", "skill-manager")  # twice is once
    user.release("1.1.0", **{"cpu: 1,": "cpu: 0.5,"})
    assert "cpu: 1.5" in user.dsec("install", "skill-manager")
    assert user.dsec("list") == "skill-manager 1.1.0: trusted (signed by me); also there: 1.0.0\n"
    listed = json.loads(user.dsec("list", "--json"))["plugins"][0]
    assert (listed["version"], listed["others"]) == ("1.1.0", ["1.0.0"])
    user.release("1.0.0")
    assert "rollback: 1.1.0 is installed, which is newer" in user.dsec("install", "skill-manager", expect=1)
    user.dsec("install", "skill-manager", "--allow-rollback")
    assert user.contract == merged
    said = user.dsec("remove", "skill-manager")
    assert "skill-manager 1.0.0 is removed\ndsandbox.yaml still names it" in said
    assert "is not installed" in user.dsec("remove", "skill-manager", expect=1)
    assert [one.name for one in (user.folder / ".dsec" / "plugins").iterdir()] == [".history.json"]


@pytest.mark.battery
def test_what_was_changed_is_not_installed(user: User) -> None:
    user.binary()
    user.ready()
    (user.plugin / "extra").write_text("")
    said = user.dsec("install", "skill-manager", expect=1)
    assert "is not installed: modified: extra is not in the manifest" in said
    assert "--allow" not in said
    user.dsec("install", "skill-manager", "--allow-unsigned", expect=1)
    (user.plugin / "extra").unlink()
    signature = user.plugin / "MANIFEST.json.minisig"
    whole = signature.read_text()
    signature.write_text(whole.replace("skill-manager 1.0.0", "skill-manager 9.0.0"))
    assert ": bad (" in user.dsec("verify", "skill-manager", expect=1)
    signature.unlink()
    assert "unsigned: it has no signature (hint: --allow-unsigned" in user.dsec(
        "install", "skill-manager", expect=1
    )
    assert "is taken without a trusted signature" in user.dsec("install", "skill-manager", "--allow-unsigned")
    assert user.dsec("list") == "skill-manager 1.0.0: unsigned\n"


@pytest.mark.battery
def test_a_version_is_what_it_was_signed_as(user: User) -> None:
    user.binary()
    user.ready()
    user.dsec("install", "skill-manager")
    (user.plugin / "schema.json").write_text("{}")
    user.dsec("sign", "skill-manager")
    said = user.dsec("install", "skill-manager", expect=1)
    assert "1.0.0 is installed with other files" in said


@pytest.mark.battery
def test_permissions_that_the_signer_may_not_give(user: User) -> None:
    user.dsec("keygen")
    user.dsec("trust", "home/.ds/keys/plugin.pub", "--name", "me", "--permissions", "read:*")
    (user.plugin / "plugin.yaml").write_text(PLUGIN.replace("[]", "[read:redis, write:s3]", 1))
    (user.plugin / "entrypoint.so").write_bytes(b"")
    user.dsec("sign", "skill-manager")
    assert "me may not give it write:s3" in user.dsec("install", "skill-manager", expect=1)


@pytest.mark.battery
def test_a_binary_that_does_more_than_is_declared_is_refused(user: User) -> None:
    user.binary("#include <stdlib.h>\nint f(const char *s) { return system(s); }\n")
    user.ready()
    said = user.dsec("install", "skill-manager", expect=1)
    assert "is not installed: " in said
    assert user.contract == CONTRACT
    assert user.dsec("list").startswith("no plugins in ")


@pytest.mark.battery
def test_a_contract_that_would_be_wrong_is_left_alone(user: User) -> None:
    user.binary()
    text = CONTRACT.replace("{min_count: 0, max_count: 0}", "{min_count: 0, max_count: 0}\n  memory_max: 1")
    (user.folder / "dsandbox.yaml").write_text(text)
    user.dsec("keygen")
    user.dsec("trust", "home/.ds/keys/plugin.pub", "--name", "me")
    (user.plugin / "plugin.yaml").write_text(PLUGIN.replace("skills.example.com", "'*'"))
    user.dsec("sign", "skill-manager")
    (user.folder / "dsandbox.yaml").chmod(0o444)
    if os.access(user.folder / "dsandbox.yaml", os.W_OK):
        pytest.skip("root may write any file")
    user.dsec("install", "skill-manager", expect=3)
    assert user.dsec("list").startswith("no plugins in ")


@pytest.mark.battery
def test_without_a_contract_only_the_plugin_is_installed(user: User) -> None:
    user.binary()
    user.ready()
    (user.folder / "dsandbox.yaml").unlink()
    assert "contract:" not in user.dsec("install", "skill-manager")
    assert user.dsec("list") == "skill-manager 1.0.0: trusted (signed by me)\n"
    user.dsec("trust", "--remove", "me")
    assert user.dsec("list") == "skill-manager 1.0.0: trusted no longer (signed by me)\n"


@pytest.mark.battery
def test_keys_are_kept_well(user: User) -> None:
    said = user.dsec("keygen")
    secret = user.folder / "home" / ".ds" / "keys" / "plugin.key"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert "is there already" in user.dsec("keygen", expect=3)
    key = said.split("dsec plugin trust ")[1].split()[0]
    assert user.dsec("trust", key, "--name", "me").startswith("me  ")
    assert "this key is me's already" in user.dsec("trust", key, "--name", "you", expect=2)
    user.dsec("keygen", "--output", "other.key")
    assert "is trusted with another key" in user.dsec("trust", "other.pub", "--name", "me", expect=2)
    assert user.dsec("trust").count("\n") == 1
    assert json.loads(user.dsec("trust", "--json"))["keys"][0]["key"] == key
    assert "trusted no longer" in user.dsec("trust", "--remove", "me")
    assert user.dsec("trust") == "nobody is trusted yet\n"
    assert "nobody of the name" in user.dsec("trust", "--remove", "me", expect=1)
    secret.chmod(0o644)
    assert "can be read by others (mode 644)" in user.dsec("sign", "skill-manager", expect=3)


@pytest.mark.battery
def test_a_password_is_asked_for_or_taken_from_the_environment(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no terminal to ask at" in user.dsec("keygen", "--password", expect=2)
    monkeypatch.setenv("DSEC_PLUGIN_PASSWORD", "secret")
    user.dsec("keygen", "--password")
    user.dsec("sign", "skill-manager")
    monkeypatch.setenv("DSEC_PLUGIN_PASSWORD", "wrong")
    assert "the password is wrong" in user.dsec("sign", "skill-manager", expect=3)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("sign", "none"), 3, "none is no folder"),
        (("verify", "none"), 3, "none: there is no such file"),
        (("verify", "dsandbox.yaml"), 3, "it is neither a folder nor a zip"),
        (("verify", "home"), 3, "home has no plugin.yaml"),
        (("sign", "skill-manager", "--expires", "soon"), 2, "a day is written YYYY-MM-DD"),
        (("sign", "skill-manager"), 3, "dsec plugin keygen makes one"),
        (("trust", "nokey"), 3, "nokey: No such file"),
        (("trust", "dsandbox.yaml"), 3, "this is no minisign public key"),
        (("list", "--contract", "none.yaml"), 3, "none.yaml: there is no such file"),
        (("remove", "../up"), 1, "../up is not installed"),
    ],
)
def test_wrong_words_are_told(user: User, words: tuple[str, ...], code: int, said: str) -> None:
    assert said in user.dsec(*words, expect=code)


@pytest.mark.battery
def test_an_example_is_called(user: User) -> None:
    if shutil.which("gcc") is None or os.uname().machine != "x86_64":
        pytest.skip("gcc on x86-64 is needed")
    examples.copied("plugins", user.folder / "plugins")
    example = user.folder / "plugins" / "word-count-c"
    subprocess.run(["make", "-s", "-C", str(example)], check=True, timeout=60)
    user.dsec("keygen")
    user.dsec("trust", "home/.ds/keys/plugin.pub", "--name", "me")
    user.dsec("sign", str(example))
    user.dsec("install", str(example))
    (user.folder / "in").write_text('{"text": "to be or not"}\n\n{"text": ""}\n')
    assert user.dsec("call", "word-count", "--input", "in", "--lines") == '{"words": 4}\n{"words": 0}\n'
    assert "the input is no JSON" in user.dsec("call", "word-count", "--input", "in", expect=1)
    (user.folder / "in").write_text('{"text": 3}')
    said = user.dsec("call", "word-count", "--input", "in", expect=1)
    assert "the input['text'] is not as the plugin's schema has it: 3 is not of type 'string'" in said
    assert "none: No such file" in user.dsec("call", "word-count", "--input", "none", expect=3)
    (user.folder / "in").write_text('{"text": "a"}')
    user.dsec("call", "word-count", "--input", "in", "--output", "out")
    assert (user.folder / "out").read_text() == '{"words": 1}\n'
    key = user.folder / "home" / ".ds" / "keys" / "install.key"
    key.rename(key.with_suffix(".away"))  # as somebody else who trusts the signer
    assert user.dsec("list") == "word-count 1.0.0: not installed by you\n"
    assert user.dsec("call", "word-count", "--input", "in") == '{"words": 1}\n'
    key.with_suffix(".away").rename(key)
    library = user.folder / ".dsec" / "plugins" / "word-count" / "1.0.0" / "entrypoint.so"
    library.write_bytes(library.read_bytes() + b" ")
    said = user.dsec("call", "word-count", "--input", "in", expect=3)
    assert "entrypoint.so is not the one that was signed (hint: it was changed since it was installed" in said
    assert "is not installed" in user.dsec("call", "nobody", expect=3)


def test_a_plugin_yaml_with_errors_is_not_signed(user: User) -> None:
    user.dsec("keygen")
    (user.plugin / "plugin.yaml").write_text("name: skill-manager\nversion: one\nentrypoint: e.so\n")
    said = user.dsec("sign", "skill-manager", expect=1)
    assert "plugin.yaml:2:" in said
    assert not (user.plugin / "MANIFEST.json").exists()


def merged(contract: str, plugin: str = PLUGIN, old: str | None = None) -> tuple[str, tuple[str, ...]]:
    before = None if old is None else wants(SourceText("p", old.encode()), "skill-manager")
    found = merge(
        SourceText("c", contract.encode()), wants(SourceText("p", plugin.encode()), "skill-manager"), before
    )
    return found.text.data.decode(), found.by_hand


def test_merging_keeps_what_is_written(user: User) -> None:
    contract = """\
# mine
baseline: {cpu: 2, memory: 1Gi}  # small
plugins:
  # others
  - name: other
security_policy:
  network:
    egress:
      - domain: a.example.com  # ours
"""
    text, by_hand = merged(contract)
    assert by_hand == ()
    assert text == contract.replace("cpu: 2, memory: 1Gi", "cpu: 3, memory: 1280Mi").replace(
        "  - name: other\n", "  - name: other\n  - {name: skill-manager}\n"
    ).replace("# ours\n", "# ours\n      - {domain: skills.example.com, ports: [443]}\n")
    assert merged(text, old=PLUGIN) == (text, ())


def test_what_cannot_be_written_is_told() -> None:
    text, by_hand = merged("base: &b {cpu: 2}\nbaseline: *b\nplugins: &p [{name: x}]\n")
    assert by_hand == ("plugins: [{name: skill-manager}]",)
    assert "security_policy: {network: {egress: [" in text


BOMB = """
#include "ds_plugin.h"
#include <stdlib.h>
#include <string.h>
uint32_t ds_plugin_abi(void) { return DS_PLUGIN_ABI; }
int32_t ds_plugin_info(ds_info *out) { out->name = "skill-manager"; out->version = "1.0.0"; return 0; }
int32_t ds_step_init(const uint8_t *c, uint64_t n, const ds_host *h) { return 0; }
int32_t ds_step_run(const uint8_t *in, uint64_t len, ds_buf *out) {
    if (len == 2) for (volatile int i = 0;; i++) {}
    for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}
void ds_step_shutdown(void) {}
void ds_buf_free(ds_buf *buf) {}
void ds_last_error(ds_buf *out) {}
"""


@pytest.mark.battery
def test_a_bomb_and_a_spinner_end_with_one_line(user: User) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("plugins run on x86-64")
    shutil.copy(ROOT / "examples" / "plugins" / "ds_plugin.h", user.folder)
    user.binary(BOMB)
    user.ready()
    user.dsec("install", "skill-manager", "--no-merge")
    (user.folder / "spin").write_text("{}")
    (user.folder / "bomb").write_text('{"a": 1}')
    said = user.dsec("call", "skill-manager", "--input", "spin", "--cpu", "1", expect=1)
    killed = "dsec: skill-manager 1.0.0: it was killed while it answered"
    assert said == f"{killed}: its 1 s of processor time are used up (--cpu)\n"
    said = user.dsec("call", "skill-manager", "--input", "bomb", "--memory", "64Mi", expect=1)
    assert said == f"{killed} by SIGSEGV; it may have 64 MiB of memory (--memory)\n"
    assert "--memory 'much' is no size" in user.dsec("call", "skill-manager", "--memory", "much", expect=2)
    assert "--cpu -1: 0 or more" in user.dsec("call", "skill-manager", "--cpu", "-1", expect=2)


def test_what_was_installed_is_remembered_when_it_is_removed(user: User) -> None:
    """An older version, other files of a version and another signer are told after remove and install."""
    user.binary()
    user.ready()
    user.release("1.1.0")
    user.dsec("install", "skill-manager", "--no-merge")
    user.dsec("remove", "skill-manager")
    user.release("1.0.0")
    why = "1.1.0 was installed before it was removed, and is newer"
    assert f"rollback: {why}" in user.dsec("install", "skill-manager", "--no-merge", expect=1)
    assert f"rollback ({why})" in user.dsec("verify", "skill-manager", expect=1)
    (user.plugin / "MANIFEST.json.minisig").unlink()
    (user.plugin / "MANIFEST.json").unlink()
    said = user.dsec("install", "skill-manager", "--no-merge", "--allow-unsigned", expect=1)
    assert "1.1.0 is installed, which is newer" in said
    user.release("1.1.0", **{"cpu: 1,": "cpu: 0.5,"})
    said = user.dsec("install", "skill-manager", "--no-merge")
    assert "warning: skill-manager 1.1.0 was installed before with other files\n" in said
    assert "was signed by" not in said
    user.dsec("keygen", "--output", "other.key")
    user.dsec("trust", "other.pub", "--name", "other")
    user.dsec("sign", "skill-manager", "--key", "other.key")
    user.dsec("remove", "skill-manager")
    said = user.dsec("install", "skill-manager", "--no-merge")
    assert "warning: skill-manager 1.1.0 was signed by me, and 1.1.0 is signed by other now\n" in said
    # A key that took over the name is another signer.
    user.dsec("trust", "--remove", "other")
    user.dsec("trust", "home/.ds/keys/plugin.pub", "--name", "mine", expect=2)
    user.dsec("trust", "--remove", "me")
    user.dsec("trust", "home/.ds/keys/plugin.pub", "--name", "other")
    assert "trusted no longer (signed by other)" in user.dsec("list")
