"""What the commands of netcheck share: tokens, quantities, peers, and where reports are kept."""

from __future__ import annotations

import os
import secrets
import shlex
import sys

from dsec import units
from dsec.errors import FileProblem
from dsec.wholefile import write_whole
from dsec_cli.commands.language import speech
from dsec_cli.commands.speaking import teller
from dsec_cli.commands.statefolder import home
from dsec_cli.exit import NO, UNKNOWN, YES, UsageError
from dsec_cli.netcheck.document import from_json, state_of, to_json
from dsec_cli.netcheck.flows import Wants
from dsec_cli.netcheck.probe import find_probes
from dsec_cli.netcheck.serving import PORT
from dsec_cli.netcheck.statement import PROBLEM
from dsec_cli.netcheck.statement import UNKNOWN as UNMEASURED
from dsec_cli.report.output import emit
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from dsec_cli.netcheck.document import Report
    from dsec_cli.options import Args

    Q = TypeVar("Q", bound=units.Quantity)

LEAST_BPS = 64_000
"""Below it a second holds too few packets to say anything of loss."""
_LEAST_TOKEN = 16
_VARIABLE = "DSEC_NETCHECK_TOKEN_FILE"


def token_path(given: str | None) -> str:
    """Where the token is."""
    return (
        given or os.environ.get(_VARIABLE) or os.path.join(os.path.expanduser("~"), ".ds", "netcheck.token")
    )


def token_of(path: str, *, make: bool = False) -> bytes:
    """The token in a file; `make`: a new one where there is none, readable by its owner alone."""
    try:
        if make and not os.path.exists(path):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            _make(path)
        with open(path, "rb") as file:
            token = file.read(4096).strip()
            open_to = os.fstat(file.fileno()).st_mode & 0o077
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)),
            hint=say("`ds-netcheck serve` makes one; copy it here from the other host"),
        ) from None
    if len(token) < _LEAST_TOKEN:
        raise FileProblem(
            say("{path} holds no token: fewer than {count} characters", path=path, count=_LEAST_TOKEN),
            hint=say("remove it, and `ds-netcheck serve` makes one"),
        )
    if open_to:
        sys.stderr.write(f"ds-netcheck: others may read {path}: chmod 600 {shlex.quote(path)}\n")
    return token


def _make(path: str) -> None:
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # another one was quicker
        return
    with open(number, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")


def quantity(kind: type[Q], option: str, text: str) -> Q:
    """What an option says, as a quantity."""
    try:
        return units.parse(kind, text)
    except units.UnitProblem as problem:
        raise UsageError(
            say("--{option} {text}: {why}", option=option, text=text, why=problem.reason),
            hint=problem.nearest or kind.example,
        ) from None


def seconds(option: str, text: str, *, most: float = 3600.0) -> float:
    """A span of time that an option says."""
    span = quantity(units.Duration, option, text).seconds
    if not 0.05 <= span <= most:
        raise UsageError(
            say("--{option} {text}: from 50ms to {most:g}s", option=option, text=text, most=most)
        )
    return span


def probes_of(text: str | None) -> tuple[str, ...]:
    """The wanted probes, in their order."""
    known = tuple(probe.name for probe in find_probes())
    if text is None:
        return known
    asked = [word.strip() for word in text.split(",")]
    for word in asked:
        if word not in known:
            raise UsageError(say("there is no probe {word!r}", word=word), hint=", ".join(known))
    return tuple(name for name in known if name in asked)


def peers_of(texts: tuple[str, ...]) -> dict[str, tuple[str, int]]:
    """Addresses by name."""
    peers: dict[str, tuple[str, int]] = {}
    for text in ",".join(texts).split(",") if texts else ():
        name, equals, address = text.strip().partition("=")
        if not (name and equals and address):
            raise UsageError(say("{text!r} is no peer", text=text), hint="--peers b=10.0.0.2:7471")
        if name in peers:
            raise UsageError(say("--peers names {name!r} twice", name=name))
        peers[name] = address_of(address)
    return peers


def address_of(text: str) -> tuple[str, int]:
    """HOST, HOST:PORT, [IPV6]:PORT."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        host, port = host if bracket and rest[:1] in ("", ":") else "", rest[1:]
    else:
        host, _, port = text.rpartition(":") if text.count(":") == 1 else (text, "", "")
    if not _nameable(host) or (port and not (port.isdecimal() and 0 <= int(port) < 65536)):
        raise UsageError(
            say("{text!r} is no address", text=text), hint="10.0.0.2, 10.0.0.2:7471, [fd00::2]:7471"
        )
    return host, int(port) if port else PORT


def _nameable(host: str) -> bool:
    """Whether the resolver can be asked for it: no part of a name is empty, or longer than 63 letters."""
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False


def wants_of(args: Args, stated: Wants) -> Wants:
    """What to judge by: what the plan states, and over it what options say."""
    if args.bandwidth_min is not None:
        stated = stated._replace(
            bandwidth_min_bps=int(quantity(units.BitsPerSecond, "bandwidth-min", args.bandwidth_min))
        )
    if args.bandwidth_cap is not None:
        stated = stated._replace(
            bandwidth_cap_bps=int(quantity(units.BitsPerSecond, "bandwidth-cap", args.bandwidth_cap))
        )
    if args.latency_cap is not None:
        stated = stated._replace(
            latency_cap_ns=int(quantity(units.Duration, "latency-cap", args.latency_cap))
        )
    return stated


def show(report: Report, args: Args) -> int:
    """Print the report as was asked; the exit code that it means."""
    emit(_rendered(report, args.format, lang=args.lang), args.output)
    return {PROBLEM: NO, UNMEASURED: UNKNOWN}.get(state_of(report), YES)


def _rendered(report: Report, form: str, *, lang: str | None) -> str:
    if form == "json":
        return to_json(report)
    language = speech(lang).of(form)
    if form == "html":
        from dsec_cli.netcheck.page import render as page

        return page(report, tell=teller(language), lang=language)
    import shutil

    from dsec_cli.netcheck.text import render

    return render(report, width=shutil.get_terminal_size((100, 24)).columns, tell=teller(language))


def history_folder(given: str | None) -> str:
    """Where reports are kept."""
    return given or os.path.join(home(os.getcwd(), os.environ), "netcheck")


def keep(report: Report, folder: str) -> str:
    """Store a report under its time; its path."""
    path = os.path.join(folder, f"{report.at_s}-{secrets.token_hex(2)}.json")
    try:
        os.makedirs(folder, exist_ok=True)
        write_whole(path, [to_json(report).encode()])
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)),
            hint=say("--history takes another folder, --no-history keeps nothing"),
        ) from None
    return path


def kept(folder: str) -> list[str]:
    """Paths of the reports there, oldest first."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=folder, why=system(problem))) from None
    found = [name for name in names if name.endswith(".json") and name.partition("-")[0].isdecimal()]
    return [
        os.path.join(folder, name)
        for name in sorted(found, key=lambda name: (int(name.partition("-")[0]), name))
    ]


def load(path: str) -> Report:
    """A stored report."""
    try:
        with open(path, encoding="utf-8") as file:
            return from_json(file.read(64 << 20), where=path)
    except (OSError, UnicodeDecodeError) as problem:
        why = system(problem) if isinstance(problem, OSError) else say("it is no text")
        raise FileProblem(say("{path}: {why}", path=path, why=why)) from None
