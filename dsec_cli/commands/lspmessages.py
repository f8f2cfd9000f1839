"""Messages of an editor, one after the other: what is wrong with one is answered as the protocol says.

The library tells the user's screen, not the asker, of a request that it cannot read, so an editor
would wait for ever; and it prints where in its code it noticed, which helps nobody.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import TYPE_CHECKING
from urllib.parse import unquote

from cattrs import transform_error
from pygls import exceptions as wrong

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any, Protocol

    from pygls.lsp.server import LanguageServer

    class Reader(Protocol):
        """Where messages come from."""

        def readline(self) -> Awaitable[bytes]:
            """A line with its end; empty at the end."""

        def readexactly(self, n: int) -> Awaitable[bytes]:
            """So many bytes; raises IncompleteReadError, or gives fewer, where there are no more."""


_SIZE = b"content-length:"
_ALWAYS = ("initialize", "exit")
_OPENS = "textDocument/didOpen"


async def take_all(server: LanguageServer, reader: Reader) -> None:
    """Handle what comes until nothing does."""
    log = logging.getLogger("pygls")
    log.handlers, log.propagate = [_Lines()], False
    while size := await _size_of_next(reader):
        body = await reader.readexactly(size)
        if len(body) < size:
            return
        take(server, body)


async def _size_of_next(reader: Reader) -> int:
    """Bytes of the next message; 0 when there is none."""
    size = 0
    while line := await reader.readline():
        if line.lower().startswith(_SIZE) and line[len(_SIZE) :].strip().isdigit():
            size = int(line[len(_SIZE) :])
        if size and not line.strip():
            return size
    return 0


def take(server: LanguageServer, body: bytes) -> None:
    """Handle one message; a request is answered whatever is wrong with it."""
    data: Any = None
    try:
        data = _read(body)
        _ready_for(server, data)
        message = _structured(server, data)
    except wrong.JsonRpcException as problem:
        _refuse(server, data, problem)
        return
    server.protocol.handle_message(message)


def _read(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise wrong.JsonRpcParseError(f"this is no JSON: {error}") from None
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        raise wrong.JsonRpcInvalidRequest("this is no message of JSON-RPC 2.0")
    if not isinstance(data.get("method", ""), str) or not isinstance(data.get("id", 0), str | int):
        raise wrong.JsonRpcInvalidRequest("a method is a string, an id a string or a number")
    return data


def _ready_for(server: LanguageServer, data: dict[str, Any]) -> None:
    """Whether the editor has introduced itself, and the file that it asks about is open."""
    method = data.get("method", _ALWAYS[0])
    if method in _ALWAYS:
        return
    if not hasattr(server.protocol, "server_capabilities"):
        raise wrong.JsonRpcException("initialize comes first", code=wrong.JsonRpcServerNotInitialized.CODE)
    if method == _OPENS:
        return
    match data.get("params"):
        case {"textDocument": {"uri": str(uri)}} if unquote(uri) not in server.workspace.text_documents:
            raise wrong.JsonRpcInvalidParams(f"{uri} is not open")


def _structured(server: LanguageServer, data: dict[str, Any]) -> Any:
    try:
        return server.protocol.structure_message(data)
    except wrong.JsonRpcInvalidParams as problem:
        cause = problem.__cause__
        why = transform_error(cause)[0] if cause is not None else str(problem)
        raise wrong.JsonRpcInvalidParams(f"{data.get('method')}: {why}") from None


def _refuse(server: LanguageServer, data: Any, problem: wrong.JsonRpcException) -> None:
    """Tell who asked; of what nobody waits for an answer to, the log."""
    mine = isinstance(data, dict)
    if mine and ("id" not in data or "method" not in data):
        sys.stderr.write(f"dsec lsp: {problem.message}\n")
        return
    asked = data["id"] if mine else None
    error = {"code": problem.code, "message": problem.message}
    server.protocol._send_data({"jsonrpc": "2.0", "id": asked, "error": error})


class _Lines(logging.Handler):
    """What the library logs, a line each; where it was our mistake, with the place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, and more only of an error that nobody has foreseen."""
        error = record.exc_info[1] if record.exc_info else None
        if record.levelno < logging.WARNING or record.getMessage().startswith("Unable to deserialize"):
            return
        sys.stderr.write(f"dsec lsp: {record.getMessage().splitlines()[0]}\n")
        if error is not None and not isinstance(error, wrong.JsonRpcException):
            traceback.print_exception(error, file=sys.stderr)
