"""The pipe between an editor and the language server, read without a thread (the other pygls door).

The library hands every line it reads from one thread to another, four times a message; on a busy
machine each hand-over waits for its turn, and the reader of the editor waits with it.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from pygls.io_ import StdinAsyncReader, StdoutWriter

from dsec_cli.commands.lspmessages import take_all

if TYPE_CHECKING:
    from typing import BinaryIO

    from pygls.lsp.server import LanguageServer


def talk(server: LanguageServer) -> None:
    """Answer what comes on standard input until the editor leaves or closes it."""
    # The pipe belongs to the protocol alone: whatever else is printed goes to standard error.
    out = os.fdopen(os.dup(1), "wb")
    come = os.fdopen(os.dup(0), "rb", buffering=0)
    # Reading without a thread makes a file not block; where both ways are one, so would writing.
    shared = os.path.samestat(os.fstat(0), os.fstat(1))
    os.dup2(2, 1)
    server.protocol.set_writer(StdoutWriter(out))
    try:
        asyncio.run(_answer_slowly(server) if shared else _answer(server, come))
    except BrokenPipeError:
        return  # the editor is gone
    finally:
        server.shutdown()  # type: ignore[no-untyped-call] # the library's


async def _answer_slowly(server: LanguageServer) -> None:
    """By the library's threads."""
    with os.fdopen(os.dup(0), "rb") as come:
        await take_all(server, StdinAsyncReader(come, server.thread_pool))


async def _answer(server: LanguageServer, come: BinaryIO) -> None:
    reader = asyncio.StreamReader()
    connected = asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), come
    )
    try:
        transport, _ = await connected
    except ValueError:  # a file, which is always ready
        reader.feed_data(come.read())
        reader.feed_eof()
        transport = None
    try:
        await take_all(server, reader)
    except asyncio.IncompleteReadError:
        pass  # the editor was killed in the middle of a message
    finally:
        if transport is not None:
            transport.close()
