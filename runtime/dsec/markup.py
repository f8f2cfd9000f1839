"""Text that others wrote, made harmless for where it goes: one function for each kind of output.

A contract, a plugin, a package or a run that somebody sent may hold what a terminal obeys, what a CI system
takes for a command, or what Markdown and HTML take for markup. What a reader would not see is spelled out
(`<U+001B>`), so that nothing is lost and nothing acts.
"""

from __future__ import annotations

_TAB = "    "
_JOINERS = "\u200d\u3000"
"""Not printable for Python, and harmless: what emoji are joined by, and the wide space."""
_COMMANDS = ("::", "##[", "##vso[", "##teamcity[")
"""How lines begin that GitHub, Azure and TeamCity take for commands."""
_HIDES = frozenset(("5", "6", "8"))
"""Of the graphic renditions of a terminal: what blinks, and what is not seen."""
_TAGS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")
"""What makes a tag of a `<` before it."""
_MARKUP = {ord(ch): f"\\{ch}" for ch in "\\`*_{}[]<>#|~"} | {ord("&"): "&amp;"}
_GITHUB_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_GITHUB_PROPERTY = _GITHUB_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def terminal_text(text: str) -> str:
    """One line for a terminal: nothing that it would obey, or that makes a line read as another one."""
    return text if text.isprintable() else "".join(map(_spelled, text))


def terminal_lines(text: str, *, color: bool = False) -> str:
    """The same of several lines, which are kept; `color`: so are the colours that we write ourselves."""
    if not text.replace("\n", "").isprintable():
        first, *others = text.split("\x1b")
        text = _spelled_lines(first) + "".join(_after_escape(one, color=color) for one in others)
    if "::" not in text and "##" not in text:
        return text
    return "\n".join(map(_disarmed, text.split("\n")))


def _after_escape(text: str, *, color: bool) -> str:
    """What stands behind an escape character, and that character or its name before it."""
    style, mark, rest = text.partition("m")
    numbers = style[1:].split(";")
    known = style[:1] == "[" and all(one.isdecimal() or not one for one in numbers) and len(style) < 20
    if color and mark and known and _HIDES.isdisjoint(numbers[:1]):
        return f"\x1b{style}m{_spelled_lines(rest)}"
    return _spelled("\x1b") + _spelled_lines(text)


def json_lines(text: str) -> str:
    """A JSON text for a terminal: what it would obey within strings becomes an escape of JSON."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        ch if ch.isprintable() or ch in "\n\t" or ch in _JOINERS else _json_escape(ch) for ch in text
    )


def markdown_text(text: str) -> str:
    """One line of Markdown with nothing in it that is read as markup, of Markdown or of HTML."""
    return terminal_text(" ".join(text.split())).translate(_MARKUP)


def markdown_line(line: str) -> str:
    """A line of Markdown that is ours in part: no tag, no image or link, no second line, nothing to obey."""
    text = terminal_text(line).replace("](", "]\\(")
    first, *others = text.split("<")
    return first + "".join(f"{'&lt;' if one and one[0] in _TAGS else '<'}{one}" for one in others)


def html_text(text: str) -> str:
    """Text within an element of HTML or XML, or within a quoted attribute."""
    return (
        terminal_text(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def xml_text(text: str) -> str:
    """Content of an XML element; characters that no XML document may have are spelled out."""
    if not text.isprintable():
        text = "".join(ch if _in_xml(ch) else f"\\u{ord(ch):04x}" for ch in text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def github_data(text: str) -> str:
    """The message of a GitHub workflow command."""
    return text.translate(_GITHUB_DATA)


def github_property(text: str) -> str:
    """The value of a property of a GitHub workflow command."""
    return text.translate(_GITHUB_PROPERTY)


def _spelled(ch: str) -> str:
    if ch == "\t":
        return _TAB
    return ch if ch.isprintable() or ch in _JOINERS else f"<U+{ord(ch):04X}>"


def _spelled_lines(text: str) -> str:
    # A carriage return before a line feed ends a line of a file from elsewhere, and moves nothing.
    return "".join(
        ch if ch in "\n\t" or (ch == "\r" and text[at + 1 : at + 2] == "\n") else _spelled(ch)
        for at, ch in enumerate(text)
    )


def _disarmed(line: str) -> str:
    """The line, with what is no command before it where it would begin as one."""
    return f"\\{line}" if line.lstrip().startswith(_COMMANDS) else line


def _json_escape(ch: str) -> str:
    number = ord(ch)
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def _in_xml(ch: str) -> bool:
    return ch in "\t\n" or " " <= ch <= "\ud7ff" or "\ue000" <= ch <= "\ufffd" or ch >= "\U00010000"
