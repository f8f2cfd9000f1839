"""Finds what a call does on this machine: files, programs, and text or data that it runs."""

from __future__ import annotations

import ast

from dsec_cli.code import access
from dsec_cli.code.abstract import HOLE, Const, FilePath, Made, Method, Shape, Symbol, Text, as_text
from dsec_cli.code.abstract import Unknown as NotKnown
from dsec_cli.code.found import shown
from dsec_cli.code.known import local as known
from dsec_cli.code.needs import Execution, FileUse, Process
from dsec_cli.code.networking import call_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.abstract import Value, Values
    from dsec_cli.code.found import Site


def local(site: Site) -> bool:
    """Add what the call does to files, programs and code; False when it does nothing known."""
    runs = _runs(site)
    if site.name in known.OPENS:
        _opens(site, *known.OPENS[site.name])
    elif site.name in known.FILES:
        for mode, at, names in known.FILES[site.name]:
            _uses(site, mode, at, names)
    elif site.name in known.PROGRAMS:
        _starts(site, *known.PROGRAMS[site.name])
    elif not _by_method(site):
        return runs
    return True


def _opens(site: Site, at: int, names: tuple[str, ...], mode_at: int) -> None:
    modes = site.texts(mode_at, ("mode",)) or (Text("r"),)
    values = (site.receiver,) if at < 0 and site.receiver else site.values(at, names)
    for mode in modes:
        for use in _of_mode(mode.text):
            use_path(site, values, use)


def _of_mode(mode: str) -> tuple[str, ...]:
    if HOLE in mode or "+" in mode:
        return (known.READ, known.WRITE)
    return (known.WRITE,) if any(letter in mode for letter in "wax") else (known.READ,)


def _uses(site: Site, mode: str, at: int, names: tuple[str, ...]) -> None:
    values = site.values(at if at >= 0 else None, names)
    if values is None and site.last == "load_dotenv":
        values = (Text(".env"),)
    if (values is None and at < 0) or (values is None and site.last in ("listdir", "scandir", "walk")):
        return
    use_path(site, values, mode)


def use_path(site: Site, values: Values | None, mode: str) -> None:
    """Add the files that `values` name."""
    for value in values if values is not None else (NotKnown("the path is not given here"),):
        if isinstance(value, Const) and isinstance(value.value, int | type(None)):
            continue  # a descriptor
        for one in access.elements(site.ev, (value,)) if isinstance(value, Shape) else (value,):
            _touch(site, one, mode)


def _touch(site: Site, value: Value, mode: str) -> None:
    text = as_text(value)
    if isinstance(value, Made | Method) and (site.name not in known.OPENS or _is_file(value.name)):
        return  # an open file, a buffer
    if "://" in text.text:
        if not text.text.startswith("file://"):
            call_address(site, (text,))
        return
    path = normal(text.text)
    if path.strip("/.").startswith(HOLE):
        site.unknown(
            "file", f"the path to {mode} is not known: {text.why or 'it is computed'}", text.variable
        )
    else:
        site.add(FileUse(shown(path), mode, site.by, site.place(), ()))


def _is_file(name: str) -> bool:
    return name in known.OPENS or name.startswith(("io.", "tempfile.", "socket."))


def normal(path: str) -> str:
    """One spelling per path: `a//./b/../c` is `a/c`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] not in ("..", "~") and HOLE not in parts[-1]:
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and path.startswith("/") and not parts):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts) or "."


def _by_method(site: Site) -> bool:
    """Methods of paths, and those that only things that are saved have."""
    name = site.last
    if isinstance(site.receiver, FilePath) and name in known.PATH_METHODS:
        for mode in known.PATH_METHODS[name]:
            use_path(site, (site.receiver,), mode)
        if name in ("rename", "replace"):
            use_path(site, site.values(0, ("target",)), known.WRITE)
        return True
    if site.receiver is None:
        return False
    if name in known.SAVING and (site.call.args or site.call.keywords):
        values = site.values(0, ("path", "fname", "path_or_buf", "save_directory", "file"))
        use_path(site, values, known.WRITE)
        return values is not None
    if name in known.TELLING and isinstance(site.receiver, NotKnown):
        for mode in known.PATH_METHODS[name]:
            use_path(site, (site.receiver,), mode)
        return True
    return False


def _starts(site: Site, at: int, names: tuple[str, ...], by_shell: bool) -> None:
    shell = by_shell or site.values(None, ("shell",)) not in (None, (Const(False),))
    values = site.values(at, names)
    if values is None:
        _add_process(site, None, shell=shell, fixed=False, why="the command is given by * or **")
        return
    for value in values or (NotKnown("it depends on itself"),):
        if isinstance(value, Shape):
            words = [_word(site, one, value) for one in _items(value.node)]
            first = words[0] if words else Text(HOLE, "the command is computed")
            fixed = bool(words) and all(HOLE not in word.text for word in words)
            _program(site, first.text, shell=shell, fixed=fixed, why=first.why or "the command is computed")
        else:
            text = as_text(value)
            _command(site, text, shell=shell)


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _word(site: Site, node: ast.expr, inside: Shape) -> Text:
    values = site.ev.values(node, inside.scope)
    if len(values) != 1:
        return Text(HOLE, "it can be one of several")
    if isinstance(values[0], Symbol) and values[0].name == "sys.executable":
        return Text("python")
    return as_text(values[0])


def _command(site: Site, text: Text, *, shell: bool) -> None:
    fixed = HOLE not in text.text
    why = text.why or "the command is computed"
    if not shell:
        fixed = fixed and (not site.name.startswith("asyncio.") or _fixed_words(site))
        _program(site, text.text.partition(" ")[0], shell=shell, fixed=fixed, why=why)
        return
    for word in _programs(text.text):
        _program(site, word, shell=shell, fixed=fixed, why=why)


def _fixed_words(site: Site) -> bool:
    return all(HOLE not in as_text(v).text for one in site.call.args for v in site.ev.values(one, site.scope))


def _programs(command: str) -> list[str]:
    """First words of the parts of a shell command."""
    for mark in ("&&", "||", "|", "\n", "&"):
        command = command.replace(mark, ";")
    found = []
    for part in command.split(";")[:16]:
        words = [word for word in part.split() if "=" not in word.partition("/")[0]]
        found += words[:1]
    return list(dict.fromkeys(found)) or [HOLE]


def _program(site: Site, word: str | None, *, shell: bool, fixed: bool, why: str) -> None:
    if word is None or HOLE in word or not word:
        _add_process(site, None, shell=shell, fixed=False, why=why)
    else:
        _add_process(site, word, shell=shell, fixed=fixed, why="")


def _add_process(site: Site, program: str | None, *, shell: bool, fixed: bool, why: str) -> None:
    site.add(Process(program, shell, fixed, site.by, site.place(), ()))
    if program is None:
        site.unknown("process", f"the program is not known: {why}")


def _runs(site: Site) -> bool:
    name = site.name
    if name in known.CODE:
        _execution(site, "code", known.CODE[name])
    elif name in known.AGENTS and _carries_out(site):
        site.add(Execution("code", False, site.by, site.place(), ()))
    elif name in known.DATA and not _harmless(site):
        _execution(site, "data", known.DATA[name])
    elif name in known.IMPORTS:
        texts = site.texts(known.IMPORTS[name], ("name", "location")) or (Text(HOLE),)
        if any(HOLE in text.text for text in texts):
            site.add(Execution("import", False, site.by, site.place(), ()))
    elif site.values(None, ("trust_remote_code",)) == (Const(True),):
        site.add(Execution("download", False, site.by, site.place(), ()))
    else:
        return False
    return True


def _carries_out(site: Site) -> bool:
    """Whether an agent runs the code that a model writes; smolagents' may do so in another machine."""
    if site.has("executor_type", "executor"):
        return site.values(None, ("executor_type",)) == (Text("local"),)
    given = site.values(None, ("code_execution_config",))
    if given is None:
        return known.AGENTS[site.name] or access.opaque(site.call)
    return given not in ((Const(False),), (Const(None),))


def _execution(site: Site, what: str, at: int) -> None:
    texts = site.texts(at, ("source", "file", "f", "path", "s")) or ()
    fixed = bool(texts) and all(HOLE not in text.text for text in texts)
    site.add(Execution(what, fixed, site.by, site.place(), ()))


def _harmless(site: Site) -> bool:
    """Whether the call is told to read data as data."""
    if site.name == "torch.load":
        return site.values(None, ("weights_only",)) == (Const(True),)
    if site.name == "numpy.load":
        return site.values(2, ("allow_pickle",)) != (Const(True),)
    if site.name in ("yaml.load", "yaml.load_all"):
        loaders = site.values(1, ("Loader",)) or ()
        return bool(loaders) and all("Safe" in getattr(one, "name", "") for one in loaders)
    return False
