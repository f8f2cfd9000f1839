"""Texts that remember their template."""

from __future__ import annotations

from dsec_cli.words import arguments, english, joined, message_id, rewritten, say, translated

CHINESE = {
    "{first}; {rest}": "{first}；{rest}",
    "{a} is more than {b}": "{a} 大于 {b}",
    "the count": "数量",
    "plain": "平",
}


def test_a_said_text_is_its_filled_template() -> None:
    text = say("{a} is more than {b}", "more", a=8, b=2)
    assert (text, message_id(text), arguments(text)) == ("8 is more than 2", "more", {"a": 8, "b": 2})


def test_a_text_without_arguments_may_hold_braces() -> None:
    assert say("write gpu: {count: 1}") == "write gpu: {count: 1}"


def test_translation_reaches_the_arguments_that_are_texts_of_ours_and_no_others() -> None:
    text = say("{a} is more than {b}", "more", a=say("the count"), b="the count")
    there = translated(text, CHINESE)
    assert there == "数量大于 the count"
    assert (message_id(there), english(there)) == ("more", "the count is more than the count")


def test_what_a_catalogue_lacks_stays_english() -> None:
    assert translated(say("{a} is less", a=1), CHINESE) == "1 is less"
    assert translated("plain", CHINESE) == "平"
    assert translated("other", CHINESE) == "other"


def test_a_secret_is_hidden_in_text_and_arguments() -> None:
    text = rewritten(say("{a} leaks", a="hunter2 here"), lambda part: part.replace("hunter2", "(secret)"))
    assert (text, arguments(text)) == ("(secret) here leaks", {"a": "(secret) here"})


def test_english_of_a_plain_text_is_itself() -> None:
    assert english("plain") == "plain"
    assert english(translated(say("the count"), CHINESE)) == "the count"


def test_joined_texts_are_translated_each() -> None:
    text = joined("; ", [say("the count"), say("{a} is more than {b}", a=1, b=0), "x"])
    assert text == "the count; 1 is more than 0; x"
    assert translated(text, CHINESE) == "数量；1 大于 0；x"
    assert joined(", ", ["a", "b"]) == "a, b"
    assert joined(", ", []) == ""
