"""The C interface of plugins (`ds_plugin.h`), called through ctypes where the plugin lives."""

from __future__ import annotations

import ctypes

from dsec.plugins.frames import MOST_BYTES

VERSION = 1
_MOST_TEXT = 1 << 16


class PluginFault(Exception):
    """The plugin does not keep to the interface, or says that it failed."""


class Info(ctypes.Structure):
    """`ds_info`."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
    )


class Buffer(ctypes.Structure):
    """`ds_buf`: bytes that belong to the plugin until `ds_buf_free`."""

    _fields_ = (("data", ctypes.c_void_p), ("len", ctypes.c_uint64))


class Host(ctypes.Structure):
    """`ds_host`: what the plugin may call back."""

    _fields_ = (("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32))


_FUNCTIONS = {
    "ds_plugin_abi": (ctypes.c_uint32, ()),
    "ds_plugin_info": (ctypes.c_int32, (ctypes.POINTER(Info),)),
    "ds_step_init": (ctypes.c_int32, (ctypes.c_char_p, ctypes.c_uint64, ctypes.POINTER(Host))),
    "ds_step_run": (ctypes.c_int32, (ctypes.c_char_p, ctypes.c_uint64, ctypes.POINTER(Buffer))),
    "ds_step_shutdown": (None, ()),
    "ds_buf_free": (None, (ctypes.POINTER(Buffer),)),
    "ds_last_error": (None, (ctypes.POINTER(Buffer),)),
}


def load(path: str) -> ctypes.CDLL:
    """A library that a plugin brings along; raises PluginFault."""
    try:
        return ctypes.CDLL(path)
    except OSError as problem:
        raise PluginFault(f"it cannot be loaded: {problem}") from None


class Library:
    """A loaded plugin; its constructors have run when this exists."""

    def __init__(self, path: str) -> None:
        """Raises PluginFault for what is no plugin of this interface."""
        self._library = load(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(self._library, name)
            except AttributeError:
                raise PluginFault(f"it has no function {name}") from None
            function.restype, function.argtypes = result, arguments
        self._out = Buffer()
        found = self._library.ds_plugin_abi()
        if found != VERSION:
            raise PluginFault(f"it is made for interface {found}, this dsec has {VERSION}")

    def info(self) -> tuple[str, str]:
        """Name and version, as the plugin says them; raises PluginFault."""
        told = Info(ctypes.sizeof(Info), VERSION)
        if self._library.ds_plugin_info(ctypes.byref(told)) != 0 or told.struct_size < ctypes.sizeof(Info):
            raise PluginFault(f"ds_plugin_info failed: {self.last_error()}")
        return _text(told.name), _text(told.version)

    def init(self, config: bytes) -> None:
        """Set it up; raises PluginFault."""
        host = Host(ctypes.sizeof(Host), 0)
        if self._library.ds_step_init(config, len(config), ctypes.byref(host)) != 0:
            raise PluginFault(self.last_error() or "ds_step_init failed")

    def run(self, data: bytes) -> bytes:
        """The answer to one input; raises PluginFault."""
        out = self._out
        out.data, out.len = None, 0
        if self._library.ds_step_run(data, len(data), ctypes.byref(out)) != 0:
            self._library.ds_buf_free(ctypes.byref(out))
            raise PluginFault(self.last_error() or "ds_step_run failed")
        if out.len > MOST_BYTES:
            raise PluginFault(f"an answer of {out.len} bytes is more than {MOST_BYTES}")
        answer = ctypes.string_at(out.data, out.len) if out.len else b""
        self._library.ds_buf_free(ctypes.byref(out))
        return answer

    def last_error(self) -> str:
        """What the plugin says about its last failure."""
        out = Buffer()
        self._library.ds_last_error(ctypes.byref(out))
        text = ctypes.string_at(out.data, min(out.len, _MOST_TEXT)) if out.len else b""
        self._library.ds_buf_free(ctypes.byref(out))
        return text.decode("utf-8", "replace")

    def shutdown(self) -> None:
        """Tell it that it is over."""
        self._library.ds_step_shutdown()


def _text(value: bytes | None) -> str:
    return (value or b"")[:_MOST_TEXT].decode("utf-8", "replace")
