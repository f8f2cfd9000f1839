"""What files are, by their names and first bytes: secrets as a whole, settings, wide texts. Pure."""

from __future__ import annotations

SNIFFED, _SHORTEST, _PROBED = 8000, 4, 64
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SETTINGS = (
    *(
        ".bash",
        ".cfg",
        ".conf",
        ".env",
        ".envrc",
        ".fish",
        ".ini",
        ".md",
        ".mk",
        ".ps1",
        ".properties",
        ".rst",
    ),
    *(
        ".sh",
        ".tf",
        ".tfvars",
        ".toml",
        ".txt",
        ".yaml",
        ".yml",
        ".zsh",
        ".condarc",
        ".npmrc",
        ".pypirc",
        ".s3cfg",
    ),
    *(".bat", ".cmd", ".csh", ".tcsh", ".ksh", ".hcl", ".service", ".bashrc", ".bash_profile", ".profile"),
    *(".zshrc", ".slurm", ".sbatch", ".pbs", ".lsf", ".mdx", ".adoc", ".dockerfile"),
    *(".boto", "Dockerfile", "Makefile", "Containerfile", "credentials", "/config"),
)
_SETTINGS_BEGIN = ("Dockerfile.", "Containerfile.", "Makefile.")
_WITHHELD = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".asc.key")
_WITHHELD_NAMES = frozenset(
    (
        ".netrc",
        "_netrc",
        ".pgpass",
        ".git-credentials",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".htpasswd",
        "credentials.json",
        ".vault-token",
    )
)
_SUMS = (".sum", ".lock", "-lock.json", "-lock.yaml", "-lock.yml", ".lockfile", ".lock.json", "lock.hcl")
_SUMS_NAMES = frozenset(("npm-shrinkwrap.json", "checksums.txt", "sha256sums", "verification-metadata.xml"))
_GUARDED = frozenset(
    (
        "test",
        "tests",
        "testing",
        "testdata",
        "test_data",
        "fixtures",
        "mocks",
        "__tests__",
        "unittest",
        "spec",
    )
)
_SAMPLES = ("example", "sample", "template", "dist", "defaults")


def withheld(name: str) -> bool:
    """Whether a file of this name is a secret as a whole (a private key, a store of passwords)."""
    base = name.rpartition("/")[2].lower()
    return base in _WITHHELD_NAMES or base.endswith(_WITHHELD)


def is_dotenv(name: str) -> bool:
    """Whether all values of the file are to be left out: `.env`, but not `.env.example`."""
    base = name.rpartition("/")[2].lower()
    if base != ".env" and not base.startswith(".env.") and not base.endswith(".env"):
        return False
    return not any(word in base for word in _SAMPLES)


def has_sums(name: str) -> bool:
    """Whether the file is one of those in which package managers keep hashes."""
    base = name.rpartition("/")[2].lower()
    return base.endswith(_SUMS) or base in _SUMS_NAMES


def is_guarded(name: str) -> bool:
    """Whether the file is a test, where passwords are made up."""
    *folders, base = name.lower().split("/")
    stem = base.partition(".")[0]
    if stem == "conftest" or stem.startswith("test_") or stem.endswith(("_test", "_tests", "_spec")):
        return True
    if ".test." in base or ".spec." in base:
        return True
    return any(folder in _GUARDED for folder in folders)


def has_settings(name: str) -> bool:
    """Whether values in the file need no quotes."""
    return name.endswith(_SETTINGS) or name.rpartition("/")[2].startswith(_SETTINGS_BEGIN)


def is_direnv(name: str) -> bool:
    """Whether the file is a script whose variables are those of a person: `.envrc`."""
    base = name.rpartition("/")[2].lower()
    return (base == ".envrc" or base.startswith(".envrc.")) and not any(word in base for word in _SAMPLES)


def encoding_of(data: bytes) -> str | None:
    """The encoding of a text whose characters are two or four bytes each; None: it is no such text."""
    if len(data) % 2 or len(data) < _SHORTEST or (data[:2] not in _MARKS and not _is_strided(data)):
        return None
    found = _wide(data) or _double(data)
    try:
        return found if found is None or data.decode(found, "surrogatepass") is not None else None
    except UnicodeDecodeError:
        return None


def _is_strided(data: bytes) -> bool:
    """Whether zeros stand where a text may have them, in the beginning: most files are told apart here."""
    if b"\0" not in data[:SNIFFED]:
        return False
    probe = data[:_PROBED]
    if 0 not in probe[::2] or 0 not in probe[1::2]:
        return True
    return not any(probe[3::4]) or not any(probe[::4])


def _wide(data: bytes) -> str | None:
    """UTF-32: of most characters all bytes but one are zero."""
    head = data[: SNIFFED - SNIFFED % 4]
    if len(data) % 4 or any(head[::4]) == any(head[3::4]):
        return None
    found, low = ("utf-32-be", head[2::4]) if any(head[3::4]) else ("utf-32-le", head[1::4])
    high = head[1::4] if found == "utf-32-be" else head[2::4]
    return found if min(low.count(0), high.count(0)) * 2 >= len(low) else None


def _double(data: bytes) -> str | None:
    """UTF-16: a mark says so, or every second byte of most characters is zero, and none of the others."""
    head = data[:SNIFFED]
    if head[:2] in _MARKS:
        return "utf-16-le" if head[:2] == b"\xff\xfe" else "utf-16-be"
    first, second = head[::2], head[1::2]
    if first.count(0) * 2 >= len(first) and all(second):
        return "utf-16-be"
    if second.count(0) * 2 >= len(second) and all(first):
        return "utf-16-le"
    return None
