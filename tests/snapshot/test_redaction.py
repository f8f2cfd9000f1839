"""What counts as a secret, and that nothing of one is left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.snapshot.redaction import MARK, Redactor
from dsec_cli.snapshot.secretfiles import is_dotenv, withheld

from .kit import KEY

TOKEN = "sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW"
DRAWN = "x7Kq9mW2vB4nZ8pL"
SECRETS = [
    ("a.py", f'API_KEY = "{DRAWN}"\n', DRAWN),
    ("a.py", f'client = Client("{TOKEN}")\n', TOKEN),
    ("a.py", 'password = "hunter2!x"\n', "hunter2!x"),
    ("a.py", f'os.environ["WANDB_API_KEY"] = "{DRAWN}"\n', DRAWN),
    ("a.py", f'subprocess.run(["t", "--api-key", "{DRAWN}"])\n', DRAWN),
    ("a.json", f'{{"client_secret": "{DRAWN}"}}\n', DRAWN),
    ("a.yaml", f"run: python t.py --api-key {DRAWN} --lr 3\n", DRAWN),
    ("a.yaml", f"api_key: {DRAWN}\n", DRAWN),
    ("a.sh", f"export DB_PASSWORD={DRAWN}\n", DRAWN),
    ("a.md", "proxy http://joe:s3cr3t-pw@proxy:3128/\n", "s3cr3t-pw"),
    ("a.md", f"git clone https://{DRAWN}@host/x.git\n", DRAWN),
    ("a.md", f"curl https://host/x?access_token={DRAWN}&b=1\n", DRAWN),
    ("a.md", f"Authorization: Bearer {DRAWN}\n", DRAWN),
    ("a.txt", "-----BEGIN RSA PRIVATE KEY-----\nMIIBOg\nIBAAJB\n-----END RSA PRIVATE KEY-----\n", "MIIBOg"),
    (".env", "ANYTHING=some words here\n", "some words here"),
    (".env.local", "export X='abc'\n", "abc"),
]
HARMLESS = [
    ("a.py", 'token = tokenizer.encode("hello world")\n'),
    ("a.py", 'pad_token = "<pad>"\neos_token = "</s>"\n'),
    ("a.py", 'password = os.environ["PASSWORD"]\n'),
    ("a.py", 'key = "value_of_key"\nkeys = {"token": "tokens", "secret": "password"}\n'),
    ("a.py", "self.key_proj = nn.Linear(dim, dim)\nmax_tokens = 2048\n"),
    ("a.md", "scheme://user:password@host, --api-key KEY, --password PASSWORD\n"),
    ("a.yaml", "api_key: ${API_KEY}\nsecret: vault://team/key\n"),
    (".env.example", "API_KEY=your-key-here\n"),
    (".env", "DEBUG=true\nPORT=8080\nRATE=0.5\n"),
    ("a.txt", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n"),
]


@pytest.mark.parametrize(("name", "text", "secret"), SECRETS)
def test_a_secret_is_replaced_and_told(name: str, text: str, secret: str) -> None:
    clean, found = Redactor(KEY).file(text.encode(), name)
    assert secret.encode() not in clean
    assert found
    assert MARK.encode() in clean
    assert clean.count(b"\n") == text.count("\n") or "BEGIN" in text


@pytest.mark.parametrize(("name", "text"), HARMLESS)
def test_what_is_none_stays(name: str, text: str) -> None:
    data = text.encode()
    clean, found = Redactor(KEY).file(data, name)
    assert found == ()
    assert clean is data


def test_the_place_is_told() -> None:
    _, found = Redactor(KEY).file(f'a = 1\n\nkey = "{TOKEN}"\n'.encode(), "a.py")
    assert [one.line for one in found] == [3]


def test_equal_secrets_have_equal_digests_under_one_key_only() -> None:
    one, two, other = Redactor(KEY), Redactor(KEY), Redactor(b"o" * 32)
    assert one.digest(b"x") == two.digest(b"x") != one.digest(b"y")
    assert one.digest(b"x") != other.digest(b"x")
    assert one.key_id != other.key_id


def test_an_accepted_value_stays() -> None:
    text = f'key = "{TOKEN}"\n'.encode()
    digest = Redactor(KEY).file(text, "a.py")[1][0].digest
    assert Redactor(KEY, [digest]).file(text, "a.py") == (text, ())


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["t", "--api-key", DRAWN, "--lr", "3"], DRAWN),
        (["t", f"--token={DRAWN}"], DRAWN),
        (["t", f"PGPASSWORD={DRAWN}"], DRAWN),
        (["t", TOKEN], TOKEN),
        (["t", "--proxy", "http://joe:s3cr3t-pw@p:1"], "s3cr3t-pw"),
    ],
)
def test_command_lines(words: list[str], secret: str) -> None:
    clean, found = Redactor(KEY).argv(words)
    assert len(clean) == len(words)
    assert secret not in " ".join(clean)
    assert found


def test_a_command_line_without_one_stays() -> None:
    words = ["dsec", "run", "--job-id", "nightly-7", "--metrics-port", "9000", "x=y"]
    assert Redactor(KEY).argv(words) == (words, ())


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (f"https://{DRAWN}@github.com/a/b.git", "https://github.com/a/b.git"),
        ("https://joe:pw@h:80/x?token=1#y", "https://h:80/x"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("ssh://git@h/x", "ssh://git@h/x"),
        ("ssh://git:pw1234@h/x", "ssh://h/x"),
        ("/srv/git/b.git", "/srv/git/b.git"),
    ],
)
def test_addresses(url: str, clean: str) -> None:
    assert Redactor(KEY).url(url)[0] == clean


def test_files_that_are_secrets_as_a_whole() -> None:
    assert withheld("deploy/id_rsa")
    assert withheld("tls/server.KEY")
    assert withheld(".netrc")
    assert not withheld("keys.py")
    assert is_dotenv("a/.env")
    assert is_dotenv("prod.env")
    assert not is_dotenv(".env.example")
    assert not is_dotenv("environment.py")


@given(st.binary(max_size=400))
def test_any_bytes_are_taken(data: bytes) -> None:
    redactor = Redactor(KEY)
    for name in ("a.py", ".env", "a.yaml"):
        clean, found = redactor.file(data, name)
        assert bool(found) == (clean != data) or not found


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_token_is_found_wherever_it_stands(before: str, after: str) -> None:
    text = f"{before} '{TOKEN}' {after}"
    clean, found = Redactor(KEY).file(text.encode("utf-8", "surrogatepass"), "a.py")
    assert TOKEN.encode() not in clean
    assert found


@given(st.sampled_from([text for _, text, _ in SECRETS]))
def test_what_is_clean_stays_clean(text: str) -> None:
    redactor = Redactor(KEY)
    clean, _ = redactor.file(text.encode(), "a.yaml")
    assert redactor.file(clean, "a.yaml") == (clean, ())
