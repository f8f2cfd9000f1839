"""What the writer of an unknown word most likely meant; imported only when there is one."""

from __future__ import annotations

from functools import cache, lru_cache

from dsec.record import Record
from dsec_cli.contract.table import ROOTS, SECTIONS
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EPOCHS = say("DSec counts steps, not epochs: use max_steps_per_episode (and checkpoint_interval_steps)")

TRAINER_KEYS = {
    "max_epochs": _EPOCHS,
    "min_epochs": _EPOCHS,
    "epochs": _EPOCHS,
    "num_epochs": _EPOCHS,
    "num_train_epochs": _EPOCHS,
    "max_steps": say("use max_steps_per_episode, or iterations.count for how often the Steps repeat"),
    "max_time": say("use timeout on each Step, and max_gpu_hours for the job"),
    "val_check_interval": say("use checkpoint_interval_steps"),
    "check_val_every_n_epoch": say("use checkpoint_interval_steps"),
    "save_steps": say("use checkpoint_interval_steps"),
    "save_every_n_steps": say("use checkpoint_interval_steps"),
    "every_n_train_steps": say("use checkpoint_interval_steps"),
    "gpus": say("use baseline.gpu.count and baseline.gpu.type"),
    "num_gpus": say("use baseline.gpu.count and baseline.gpu.type"),
    "devices": say("use baseline.gpu.count and baseline.gpu.type"),
    "accelerator": say("use baseline.gpu.type"),
    "num_nodes": say("a plan places Steps on the inventory's devices: use baseline.gpu.count"),
    "strategy": say("how a Step trains is its own matter: put it into the Step's run command"),
    "precision": say("how a Step trains is its own matter: put it into the Step's run command"),
    "learning_rate": say("how a Step trains is its own matter: put it into the Step's run command"),
    "batch_size": say("how a Step trains is its own matter: put it into the Step's run command"),
}
"""Keys of trainer libraries that find their way into contracts, and what DSec has for them."""

SYNONYMS = {
    "tolerance": "level",
    "faulttolerance": "level",
    "dependson": "needs",
    "depends": "needs",
    "deps": "needs",
    "after": "needs",
    "requires": "needs",
    "command": "run",
    "cmd": "run",
    "exec": "run",
    "script": "run",
    "entrypoint": "run",
    "function": "call",
    "kwargs": "args",
    "params": "args",
    "environment": "env",
    "workingdir": "cwd",
    "workdir": "cwd",
    "workingdirectory": "cwd",
    "image": "base",
    "timelimit": "timeout",
    "walltime": "timeout",
    "maxruntime": "timeout",
    "produces": "outputs",
    "artifacts": "outputs",
    "consumes": "inputs",
    "retry": "retries",
    "maxretries": "retries",
    "numretries": "retries",
    "retrylimit": "retries",
    "attempts": "retries",
    "maxattempts": "retries",
    "backofflimit": "retries",
    "vram": "memory",
    "gpumemory": "memory",
    "staleness": "max_staleness",
    "maxlag": "max_staleness",
    "offpolicyness": "max_staleness",
    "duration": "expected_duration",
    "mem": "memory",
    "ram": "memory",
    "cpus": "cpu",
    "cores": "cpu",
    "gpus": "gpu",
    "model": "type",
    "stages": "steps",
    "jobs": "steps",
    "max": "max_count",
    "min": "min_count",
    "url": "source",
    "src": "source",
    "readonly": "mode",
    "graceperiod": "checkpoint_grace_period",
    "dataset": "data_source",
    "datasets": "data_source",
    "trainingdata": "data_source",
    "repeat": "iterations",
    "id": "step",
}
"""Words of neighbouring tools, `folded`, and the word that this language has."""

LEVELS = {
    "preemptible": "pauseable",
    "interruptible": "pauseable",
    "suspendable": "pauseable",
    "spot": "pauseable",
    "besteffort": "discardable",
    "optional": "discardable",
    "mandatory": "critical",
    "required": "critical",
}
"""Words of neighbouring tools for what may be done to a job, and the level that is nearest to each."""

FURTHER = {
    "env": "env_vars",
    "environment": "env_vars",
    "envs": "env_vars",
    "host": "domain",
    "key": "name",
    "hostname": "domain",
    "url": "domain",
    "mountpath": "path",
    "target": "path",
    "volumes": "mounts",
    "readonly": "read_allowed",
    "limits": "resources",
    "requests": "resources",
}
"""What else such a word means, where the first is not legal."""

_STEP_GPUS = say("use resources.gpu.count (and resources.gpu.type)")
_RETRIES = say("use retries: how many times a Step is started again after it has failed")
STEP_KEYS = dict.fromkeys(("gpus", "num_gpus", "devices"), _STEP_GPUS) | dict.fromkeys(
    ("restart", "restart_policy", "restartPolicy"), _RETRIES
)
"""What `TRAINER_KEYS` advises of a job, for a Step."""


def of_trainers(key: str, section: str) -> str:
    """What this language has for a key of a trainer library, or ""."""
    if section in ("Step", "Resources") and key in STEP_KEYS:
        return STEP_KEYS[key]
    return TRAINER_KEYS.get(key, "")


KEEPING = ("x-", ".")
"""How keys begin in which other tools let one keep what anchors name."""


class Suggestion(Record):
    """The likely word, and whether nothing else was likely (so that a fix may use it)."""

    word: str
    sure: bool


_SPACERS = dict.fromkeys(map(ord, "-_ "))


@lru_cache(maxsize=1024)
def folded(word: str) -> str:
    """The word without case, dashes, underscores and blanks."""
    return word.lower().translate(_SPACERS)


def distance(left: str, right: str, *, most: int) -> int:
    """Edits (insert, delete, replace, swap neighbours) between two words; `most` + 1 when more."""
    if abs(len(left) - len(right)) > most or _strange(left, right) > most or _strange(right, left) > most:
        return most + 1
    left, right = _differing(left, right)
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before = before, row
        row = [most + 1] * (len(right) + 1)
        row[0] = i
        # What lies farther than `most` from the diagonal takes more than `most` insertions alone.
        for j in range(max(1, i - most), min(len(right), i + most) + 1):
            b = right[j - 1]
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row[j] = cost
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _differing(left: str, right: str) -> tuple[str, str]:
    """Both words without what they begin and end with alike."""
    start, shorter = 0, min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    end = 0
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return left[start : len(left) - end], right[start : len(right) - end]


def _strange(word: str, other: str) -> int:
    """How many letters of `word` the other lacks: each of them costs an edit."""
    return len(set(word).difference(other))


LONGEST = 64
"""Letters of a word beyond which none is proposed for it."""
COMPARED = 100
"""Words that one is compared with letter by letter; among more, only its direct neighbours are looked up."""
ALPHABET = 80
"""Different letters of known words beyond which neighbours are not looked up."""


class _Known(Record):
    """Legal words, made ready for the thousands of wrong ones that a document may have."""

    words: frozenset[str]
    folded: dict[str, str]
    sized: dict[int, list[str]]
    """By length: it tells most of them apart from a wrong word."""


@lru_cache(maxsize=4)
def _known(legal: tuple[str, ...]) -> _Known:
    sized: dict[int, list[str]] = {}
    for word in legal:
        sized.setdefault(len(word), []).append(word)
    # Of words that are folded to the same, the first of the alphabet.
    return _Known(frozenset(legal), {folded(word): word for word in sorted(legal, reverse=True)}, sized)


def nearest(word: str, legal: Iterable[str]) -> Suggestion | None:
    """The legal word that is meant, if one is near enough to say so; bounded work for any words."""
    known = _known(tuple(legal))
    plain, length = folded(word), len(word)
    if plain in known.folded:
        return Suggestion(known.folded[plain], sure=True)
    if length > LONGEST:
        return None
    if not word.isascii():
        from dsec_cli.contract.chinese import meant  # few documents have such words

        likely = meant(word, known.words)
        if likely:
            return Suggestion(likely, sure=True)
    for synonym in (SYNONYMS.get(plain), FURTHER.get(plain), LEVELS.get(plain)):
        if synonym in known.words:
            return Suggestion(synonym, sure=False)
    near = _near(word, known, max(1, min(3, length // 3)))
    if not near:
        return None
    alone = len(near) == 1 or near[1][0] > near[0][0]
    return Suggestion(near[0][1], sure=alone and near[0][0] == 1)


def _near(word: str, known: _Known, most: int) -> list[tuple[int, str]]:
    """The words within `most` edits, nearest first; of many words only those that one edit makes."""
    sizes = range(len(word) - most, len(word) + most + 1)
    if sum(len(known.sized.get(size, ())) for size in sizes) > COMPARED:
        return [(1, other) for other in sorted(known.words.intersection(_neighbours(word, known)))]
    like = [other for size in sizes for other in known.sized.get(size, ())]
    return sorted((edits, other) for other in like if (edits := distance(word, other, most=most)) <= most)


def _neighbours(word: str, known: _Known) -> Iterator[str]:
    """All that one edit makes of a word: looked up, they cost the same however many words are known."""
    letters: set[str] = set()
    for other in known.words:
        letters.update(other)
        if len(letters) > ALPHABET:
            return
    for at in range(len(word) + 1):
        start, end = word[:at], word[at:]
        yield start + end[1:]
        yield start + end[1:2] + end[:1] + end[2:]
        for letter in letters:
            yield start + letter + end
            yield start + letter + end[1:]


def without_numbers(word: str) -> str:
    """The word without its digits: names that differ in these alone are different things, not misspelt."""
    return word.translate(_DIGITS)


_DIGITS = dict.fromkeys(map(ord, "0123456789"))


def only(word: str, legal: tuple[str, ...]) -> str:
    """The legal word that is the only one there is, or the only one that begins so; "" where none is."""
    begun = [one for one in legal if len(word) > 1 and folded(one).startswith(folded(word))]
    found = legal if len(legal) == 1 else begun
    return found[0] if len(found) == 1 else ""


def host_in(text: str) -> tuple[str, str]:
    """Host and port that an address names; "" where it names none."""
    from dsec_cli.contract.forms import is_host

    rest = text.partition("://")[2] or text
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    host, colon, port = rest.rpartition("@")[2].partition(":")
    if not is_host(host) or (colon and not (port.isascii() and port.isdecimal())):
        return "", ""
    return host, port


def package_in(text: str) -> tuple[str, str]:
    """Name and range of a requirement such as `numpy>=2`; "" where it is none."""
    from dsec_cli.contract.forms import is_package_name

    at = min((found for sign in "<>=!~" if (found := text.find(sign)) > 0), default=0)
    name = text[:at].rstrip()
    return (name, text[at:].strip()) if is_package_name(name) else ("", "")


def is_synonym(word: str, meant: Suggestion) -> bool:
    """Whether other tools have `word` for what is meant here."""
    return meant.word in (SYNONYMS.get(folded(word)), FURTHER.get(folded(word)))


def homes(key: str, section: str, kind: str) -> tuple[str, ...]:
    """Sections, other than `section`, where `key` is legal; those of the same document kind."""
    found = {SECTIONS[name][0] for name in _owners(ROOTS[kind]).get(key, ()) if name != section}
    here = SECTIONS[section][0]
    return tuple(sorted(found, key=lambda heading: (_apart(here, heading), heading)))


def _apart(here: str, there: str) -> int:
    """How far two headings are apart: steps up and down again."""
    left, right = here.split("."), there.split(".")
    shared = 0
    while shared < min(len(left), len(right)) and left[shared] == right[shared]:
        shared += 1
    return len(left) + len(right) - 2 * shared


@cache
def _owners(root: str) -> dict[str, list[str]]:
    """For each key, the sections that have it, of those which a kind of document may have."""
    owners: dict[str, list[str]] = {}
    for name in _reached(root):
        for key in SECTIONS[name][2]:
            owners.setdefault(key, []).append(name)
    return owners


def _reached(root: str) -> list[str]:
    names = [root]
    for name in names:
        for shape in SECTIONS[name][2].values():
            names.extend(inner for inner in _sections(shape) if inner not in names)
    return names


def _sections(shape: tuple[object, ...]) -> list[str]:
    """Names of the sections that a shape leads to."""
    if shape[0] == "section":
        return [str(shape[1])]
    if shape[0] == "keyed":
        return [str(shape[2]), str(shape[3])]
    return [name for part in shape if isinstance(part, tuple) and part for name in _sections(part)]
