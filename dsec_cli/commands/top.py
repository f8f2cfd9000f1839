"""`dsec top`: a run as it goes on, on a terminal."""

from __future__ import annotations

import json
import os
import sys
import time

from dsec_cli.commands.looking import Looker
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.statefolder import find
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.screen.frame import frame
from dsec_cli.screen.line import painted
from dsec_cli.screen.scene import Wish, chosen_of
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.commands.keyboard import Terminal
    from dsec_cli.options import Args
    from dsec_cli.screen.scene import Scene

_LEAST_S, _MOST_S = 0.1, 3600.0
_PATIENCE_S = 0.3
"""How long a long journal is read before the picture is drawn again."""
_VIEWS = {"l": "log", "h": "heat", "n": "notices"}


def main(args: Args) -> int:
    """Show the run named, or the latest one, until a key ends it; one picture where there is no terminal."""
    interval_s = _interval(args.interval)
    run = find(os.getcwd(), os.environ, args.job)
    tell = listener(args.lang)
    live = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    looker = Looker(run)
    try:
        if args.json:
            from dsec_cli.screen.document import document

            sys.stdout.write(_encoded(document(_twice(looker), Wish(""))))
        elif args.once or not live:
            _print(_twice(looker), args.color, tell)
        else:
            return _show(looker, interval_s, tell, color=colored(args.color, sys.stdout))
    finally:
        looker.close()
    return YES


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not _LEAST_S <= seconds <= _MOST_S:
        raise UsageError(
            say("--interval {text}: no number of seconds from 0.1 to 3600", text=text),
            hint=say("such as --interval 2"),
        )
    return seconds


def _encoded(found: dict[str, object]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _twice(looker: Looker) -> Scene:
    """A second look, a moment after the first: shares of time need two."""
    scene = looker.look(Wish(""))
    if scene.state == "running" and scene.watch.gpus:
        time.sleep(0.2)
        scene = looker.look(Wish(""))
    return scene


def _print(scene: Scene, when: str, tell: Callable[[str], str]) -> None:
    """One picture, as long as it takes."""
    width = _columns()
    color = colored(when, sys.stdout)
    lines = frame(scene, Wish(""), width, 0, tell)
    emit("".join(painted(line, color=color).rstrip() + "\n" for line in lines), color=color)


def _columns() -> int:
    wished = os.environ.get("COLUMNS", "")
    if wished.isascii() and wished.isdigit() and int(wished):
        return max(40, min(int(wished), 1000))
    try:
        return max(40, os.get_terminal_size(1).columns or 80)
    except OSError:
        return 80


def _show(looker: Looker, interval_s: float, tell: Callable[[str], str], *, color: bool) -> int:
    from dsec_cli.commands.keyboard import Ended, Terminal

    try:
        with Terminal(sys.stdin.fileno(), sys.stdout.fileno()) as terminal:
            _loop(looker, terminal, interval_s, tell, color)
    except Ended as asked:
        return 128 + asked.number
    return YES


def _loop(
    looker: Looker, terminal: Terminal, interval_s: float, tell: Callable[[str], str], color: bool
) -> None:
    wish = Wish("")
    scene = looker.look(wish, patience_s=_PATIENCE_S)
    due = time.monotonic() + interval_s
    while True:
        width, height = terminal.size()
        terminal.draw([painted(line, color=color) for line in frame(scene, wish, width, height, tell)])
        reading = scene.read_permille < 1000
        pressed = terminal.keys(0.0 if reading else due - time.monotonic())
        if pressed is None or "q" in pressed:
            return
        for key in pressed:
            wish = _heeded(key, wish, scene)
        now = time.monotonic()
        if now >= due or pressed or reading:
            if not wish.still or reading:
                scene = looker.look(wish, patience_s=_PATIENCE_S)
            # From the time that was due, so that drawing does not add to the interval.
            due = now + interval_s if now >= due + interval_s else due + interval_s * (now >= due)


def _heeded(key: str, wish: Wish, scene: Scene) -> Wish:
    """What is wished for after a key."""
    if key in _VIEWS:
        return wish._replace(view="run" if wish.view == _VIEWS[key] else _VIEWS[key])
    if key == "back":
        return wish._replace(view="run", still=False)
    if key == "p":
        return wish._replace(still=not wish.still)
    if key in ("up", "down"):
        ids = list(scene.watch.steps)
        at = ids.index(chosen_of(scene, wish)) + (1 if key == "down" else -1)
        return wish._replace(chosen=ids[at % len(ids)])
    return wish
