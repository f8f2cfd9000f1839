"""Catalogues: what DSec says in English, and how that is said in another language.

A catalogue's keys are the English templates as they stand in the code (`words.say`); a test holds
it against the code, so none is missing and none is left over. To add a language, add a package like
`zh` and a line to `LANGUAGES`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh")


def of_locale(name: str) -> str:
    """The language of a POSIX locale (`zh_CN.UTF-8`) or an editor's (`zh-cn`); English for all others."""
    start = name.replace("-", "_").partition(".")[0].partition("_")[0].lower()
    return start if start in LANGUAGES else ENGLISH


def catalogue(language: str) -> Mapping[str, str]:
    """Findings and the words around them, by their English templates."""
    if language == ENGLISH:
        return {}
    from dsec_cli.languages import zh  # nobody else pays for it

    return zh.findings()


def pages(language: str) -> Mapping[str, str]:
    """The rules' pages and the meanings of keys, by their English texts, and what `catalogue` holds."""
    if language == ENGLISH:
        return {}
    from dsec_cli.languages import zh

    return zh.findings() | zh.of_pages()
