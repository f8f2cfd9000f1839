"""The Chinese catalogue against the code: nothing missing, nothing left over, every placeholder there."""

from __future__ import annotations

import ast
import errno
import os
import string
import unicodedata

import pytest

from dsec_cli.contract.describe import descriptions
from dsec_cli.languages import LANGUAGES, catalogue, of_locale, pages
from dsec_cli.languages.zh import PARTS
from dsec_cli.languages.zh.keys import TEXTS as KEYS
from dsec_cli.languages.zh.pages import TEXTS
from dsec_cli.languages.zh.system import TEXTS as SYSTEM
from dsec_cli.lint import page
from dsec_cli.lint.rule import find_rules

from .saying import ROOT, of_module, pasted, templates, unsaid

OTHERS = ("dsec_cli/dag/compile.py",)
"""What plans say, which is English for now."""
CHINESE = catalogue("zh")


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Every template of the code, with a file that has it."""
    return templates()


def test_every_text_of_the_code_has_its_chinese(said: dict[str, str]) -> None:
    missing = [f"{file}: {text}" for text, file in said.items() if text not in CHINESE]
    assert not missing, "add these to a module of dsec_cli/languages/zh"


def test_no_chinese_is_left_over(said: dict[str, str]) -> None:
    known = {*said, *SYSTEM}
    assert not [text for text in CHINESE if text not in known], "the code no longer says these"


NO_ERRNO = {
    "not found on PATH",
    "timed out",
    "Name or service not known",
    "Temporary failure in name resolution",
}
"""Said by our launcher and by the resolver of names."""


def test_what_the_system_says_is_what_it_says() -> None:
    known = {os.strerror(number) for number in errno.errorcode}
    assert not sorted(set(SYSTEM) - known - NO_ERRNO)


def test_no_text_is_in_two_modules() -> None:
    assert sum(len(part.TEXTS) for part in PARTS) == len(CHINESE)


def test_every_page_has_its_chinese_and_no_chinese_is_left_over() -> None:
    texts = {text for rule in find_rules() for text in (page.read(rule).summary, page.read(rule).why)}
    assert not sorted(texts - set(TEXTS)), "add these to dsec_cli/languages/zh/pages.py"
    assert not sorted(set(TEXTS) - texts), "no rule's page says these any more"


def test_every_key_has_its_chinese_and_no_chinese_is_left_over() -> None:
    keys = [key for section in descriptions().values() for key in section.values()]
    meanings, defaults = {key.meaning for key in keys}, {key.default for key in keys}
    assert not sorted(meanings - set(KEYS)), "add these to dsec_cli/languages/zh/keys.py"
    assert not sorted(set(KEYS) - meanings - defaults), "no key means these any more"


def test_words_of_findings_are_said_and_not_pasted() -> None:
    assert not [text for text in unsaid() if not text.startswith(OTHERS)]


def test_words_of_errors_are_not_pasted_together() -> None:
    assert not list(pasted()), "say them by a template with names"


def _fields(template: str) -> set[tuple[str, str | None, str | None]]:
    return {
        (name, form, how) for _, name, form, how in string.Formatter().parse(template) if name is not None
    }


def test_both_have_the_same_placeholders() -> None:
    filled = [text for text in CHINESE if _takes_arguments(text)]
    assert len(filled) > 300
    assert not [text for text in filled if _fields(text) != _fields(CHINESE[text])]


def _takes_arguments(template: str) -> bool:
    """Whether the braces are placeholders: a text without arguments may hold any braces."""
    try:
        names = {name for name, _, _ in _fields(template)}
    except ValueError:
        return False
    return all(name.isidentifier() for name in names)


def test_chinese_is_written_as_chinese() -> None:
    """Marks between Chinese letters are full-width, and no blank stands beside a full-width mark."""
    texts = [*CHINESE.values(), *TEXTS.values(), *KEYS.values()]
    assert not [text for text in texts if not _is_well_set(text)]
    assert not _is_well_set("先写, 再读")
    assert not _is_well_set("先写,再读")
    assert not _is_well_set("先写， 再读")


def _is_well_set(chinese: str) -> bool:
    for at, char in enumerate(chinese[1:-1], 1):
        before, after = chinese[at - 1], chinese[at + 1]
        if _is_letter(before) and (_is_letter(after) or after == " ") and char in ",.;:!?()":
            return False
        if char in "，。：；、（）" and " " in (before, after):
            return False
    return "\u3000" not in chinese


def _is_letter(char: str) -> bool:
    return unicodedata.name(char, "").startswith("CJK UNIFIED")


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("zh_CN.UTF-8", "zh"), ("zh", "zh"), ("zh-cn", "zh"), ("zh_TW", "zh"), ("ZH_cn", "zh"),
        ("en_US.UTF-8", "en"), ("C", "en"), ("C.UTF-8", "en"), ("POSIX", "en"), ("", "en"), ("zha_CN", "en"),
        ("de_DE@euro", "en"),
    ],
)  # fmt: skip
def test_a_locale_has_a_language(name: str, language: str) -> None:
    assert of_locale(name) == language


def test_english_has_no_catalogue() -> None:
    assert LANGUAGES[0] == "en"
    assert not catalogue("en")
    assert not pages("en")


def test_a_template_that_cannot_be_read_is_told() -> None:
    code = "from dsec_cli.words import say\nT = {1: 'a', 2: 'b'}\nsay(T[1])\nsay('c' if x else 'd')\n"
    assert list(of_module(ast.parse(code), "x.py")) == ["a", "b", "c", "d"]
    with pytest.raises(AssertionError, match="cannot be read"):
        list(of_module(ast.parse("from dsec_cli.words import say\nsay(text)\n"), "x.py"))


def test_the_tables_of_the_command_line_name_the_languages() -> None:
    from dsec_cli.options_shared import LANG
    from dsec_cli.settings import setting

    found = setting("lang")
    assert found is not None
    assert LANG[4] == found.choices == ("auto", *LANGUAGES)
    assert (ROOT / "dsec_cli" / "languages" / "zh").is_dir()
