"""Finds what a call reaches over the network, and the ports it listens on."""

from __future__ import annotations

import ast

from dsec_cli.code import access, address
from dsec_cli.code.abstract import HOLE, Const, Made, Shape, Text, as_text, joined
from dsec_cli.code.abstract import Unknown as NotKnown
from dsec_cli.code.known import network as known
from dsec_cli.code.needs import Egress, Listen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.abstract import Value
    from dsec_cli.code.found import Site


def network(site: Site) -> bool:
    """Add what the call reaches; False when it is no call of the network."""
    name = site.name
    if name in known.URLS:
        _by_url(site, *known.URLS[name])
    elif name in known.HOSTS:
        _by_host(site, known.HOSTS[name])
    elif name in known.ADDRESSES:
        _by_address(site, known.ADDRESSES[name], listens=False)
    elif name in known.LISTEN_ADDRESSES:
        _by_address(site, known.LISTEN_ADDRESSES[name], listens=True)
    elif name in known.LISTEN_HOSTS:
        _listens(site, known.LISTEN_HOSTS[name])
    elif name in known.SERVERS:
        _serves(site)
    elif not _asks_hub(site):
        return _asks(site)
    return True


def call_address(site: Site, texts: tuple[Text, ...], *, bare: bool = False) -> bool:
    """Add the destinations that any of `texts` is; False when none is an address."""
    any_one = False
    for text in texts:
        found = address.read(text, bare=bare)
        if found is None:
            continue
        any_one = True
        if found.host:
            add_host(site, found.host, found.port, found.scheme, variable=found.variable)
        if found.why:
            site.unknown("egress", found.why, found.variable)
    return any_one


def add_host(site: Site, host: str, port: int | None, scheme: str, *, variable: str = "") -> None:
    """Add one destination."""
    site.add(Egress(host, port, scheme, None, variable, site.by, site.place(), ()))


_ASKED = {"urllib.request.urlopen", "urllib.request.urlretrieve"}


def _by_url(site: Site, at: int, names: tuple[str, ...]) -> None:
    values = None if site.name in known.DATABASES and site.has("host") else site.values(at, names)
    if values is None:
        if site.name in known.DATABASES or site.name == "pymongo.MongoClient":
            _database(site)
        elif access.opaque(site.call):
            site.unknown("egress", "the address is given by * or **")
        return
    texts: list[Text] = []
    for value in values or (NotKnown("it depends on itself"),):
        if isinstance(value, Made) and site.name in _ASKED and value.name == "urllib.request.Request":
            continue  # counted where it is made
        inner = access.elements(site.ev, (value,)) if isinstance(value, Shape) else (value,)
        texts += map(as_text, inner)
    bare = site.name.startswith("grpc.") or site.name in known.DATABASES
    if site.name in known.DATABASES:
        texts = [_from_dsn(text) for text in texts]
    based = _on_base(site, tuple(texts))
    if not call_address(site, based, bare=bare) and not _is_local(site):
        for text in based:
            site.unknown("egress", text.why or "the address has no host", text.variable)


def _is_local(site: Site) -> bool:
    """Whether the address means a file here: `sqlite:///x.db`."""
    return site.name.startswith(("sqlalchemy.", "databases.", "feedparser."))


def _from_dsn(text: Text) -> Text:
    """`host=db port=5432` as an address."""
    words = dict(word.partition("=")[::2] for word in text.text.split() if "=" in word)
    if "://" in text.text or "host" not in words:
        return text if "://" in text.text or HOLE in text.text else Text("", text.why)
    return Text(f"postgresql://{words['host']}:{words.get('port', 5432)}", text.why, text.variable)


def _database(site: Site) -> None:
    port = 27017 if site.name == "pymongo.MongoClient" else 5432
    scheme = "mongodb" if port == 27017 else "postgresql"
    _by_host(site, known.Host(-1, ("host",), -1, ("port",), "localhost", port, scheme))


def _on_base(site: Site, texts: tuple[Text, ...]) -> tuple[Text, ...]:
    """Addresses as the client sees them, who may have been made with a base."""
    receiver = site.receiver
    if not isinstance(receiver, Made) or receiver.call is None or receiver.scope is None:
        return texts
    at = 0 if receiver.name.startswith("aiohttp.") else None
    found = access.argument(site.ev, receiver.call, receiver.scope, at=at, names=("base_url",))
    if found is None:
        return texts
    bases = site.ev.texts(*found)
    below = tuple(text for text in texts if "://" not in text.text)
    whole = tuple(text for text in texts if "://" in text.text)
    on_base = joined([bases, below], "/") if below else ()
    return (*whole, *map(as_text, on_base))


def _one(site: Site, at: int, names: tuple[str, ...]) -> tuple[Value, ...] | None:
    return site.values(at if at >= 0 else None, names)


def _ports(values: tuple[Value, ...] | None, default: int | None) -> tuple[int | None, ...]:
    if values is None:
        return (default,)
    known_ones = [value for value in values if _port(value) is not None]
    if known_ones:  # the default of a variable stands for what the variable says
        values = tuple(v for v in values if not (isinstance(v, NotKnown) and v.variable))
    return tuple(dict.fromkeys(_port(value) for value in values)) or (None,)


def _port(value: Value) -> int | None:
    if isinstance(value, Const) and type(value.value) is int and 0 <= value.value < 65536:
        return value.value
    if isinstance(value, Text) and value.text.isdecimal() and len(value.text) < 6:
        return int(value.text)
    return None


def _by_host(site: Site, form: known.Host) -> None:
    values = _one(site, form.at, form.names)
    if values is None and form.host == "":
        return  # it connects later
    if values is None and form.host is None:
        site.unknown("egress", "the host is not given here")
        return
    ports = _ports(_one(site, form.port_at, form.port_names), form.port)
    for value in values if values is not None else (Text(form.host or ""),):
        text = as_text(value)
        if isinstance(value, Const) and value.value is None:
            text = Text(form.host or "")
        if HOLE in text.text:
            site.unknown("egress", f"the host is not known: {text.why or 'it is computed'}", text.variable)
        elif text.text and "/" not in text.text:
            for port in ports:
                add_host(site, text.text.lower(), port, form.scheme, variable=text.variable)


def _by_address(site: Site, at: int, *, listens: bool) -> None:
    """`(host, port)` in one argument."""
    values = site.values(at, ("address", "server_address", "addr"))
    for value in values or ():
        if isinstance(value, Text):
            continue  # a socket in the file system
        hosts: tuple[Value, ...] = (value,)
        ports: tuple[int | None, ...] = (None,)
        if isinstance(value, Shape) and isinstance(value.node, ast.Tuple | ast.List):
            hosts = access.part(site.ev, (value,), 0)
            ports = _ports(access.part(site.ev, (value,), 1), None)
        for host in hosts:
            for port in ports:
                _end(site, as_text(host), port, listens=listens)


def _end(site: Site, host: Text, port: int | None, *, listens: bool) -> None:
    known_host = HOLE not in host.text
    if listens:
        _add_listen(site, host.text if known_host else None, port)
    elif known_host:
        add_host(site, host.text.lower(), port, "tcp", variable=host.variable)
    else:
        site.unknown("egress", f"the host is not known: {host.why or 'it is computed'}", host.variable)


def _add_listen(site: Site, host: str | None, port: int | None) -> None:
    site.add(Listen(host, port, site.by, site.place(), ()))


def _listens(site: Site, form: known.Host) -> None:
    if site.name == "uvicorn.run" and site.has("uds", "fd"):
        return
    hosts = _one(site, form.at, form.names)
    for host in hosts if hosts is not None else (Text(form.host) if form.host else NotKnown(""),):
        for port in _ports(_one(site, form.port_at, form.port_names), form.port):
            text = as_text(host)
            _add_listen(site, None if HOLE in text.text else text.text, port)


def _serves(site: Site) -> None:
    """An MCP server: standard input and output, unless another transport is named."""
    texts = site.texts(0, ("transport",)) or (Text("stdio"),)
    if all(text.text == "stdio" for text in texts):
        return
    receiver = site.receiver
    ports: tuple[int | None, ...] = (8000,)
    if site.has("port"):
        ports = _ports(site.values(None, ("port",)), 8000)
    elif isinstance(receiver, Made) and receiver.call is not None and receiver.scope is not None:
        found = access.argument(site.ev, receiver.call, receiver.scope, at=None, names=("port",))
        ports = _ports(site.ev.values(*found) if found else None, 8000)
    for port in ports:
        _add_listen(site, None, port)


def _asks_hub(site: Site) -> bool:
    """Calls that fetch from the Hugging Face hub, unless they name a folder here."""
    package = site.name.partition(".")[0]
    from_hub = site.last in ("from_pretrained", "push_to_hub") and package in known.HUB_PACKAGES
    if site.name not in known.HUB_CALLS and not from_hub:
        return False
    offline = site.values(None, ("local_files_only",))
    if offline == (Const(True),):
        return True
    model = site.texts(
        0, ("pretrained_model_name_or_path", "repo_id", "path", "model_name_or_path", "model", "model_path")
    )
    if model is not None and site.last != "push_to_hub" and all(_is_path(text.text) for text in model):
        return False
    add_host(site, *known.HUB, "https")
    return True


def _is_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~"))


def _asks(site: Site) -> bool:
    """A method of something unknown that is given an address in so many words."""
    if site.last not in known.ASKING or isinstance(site.receiver, Shape | Text | None):
        return False
    for at in (0, 1):
        texts = site.texts(at, ("url",)) or ()
        addressed = tuple(text for text in texts if "://" in text.text[:12])
        if addressed:
            return call_address(site, addressed)
    return False
