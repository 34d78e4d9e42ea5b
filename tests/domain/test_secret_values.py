"""Values that count as secrets, at the limits of each rule."""

from __future__ import annotations

import pytest

from gatebell.domain.text.named_secrets import kind_of
from gatebell.domain.text.redaction import HIDDEN, hide_secrets
from gatebell.domain.text.secret_values import (
    Place,
    SecretKind,
    is_digest,
    is_filler,
    is_random,
    is_scrambled,
    is_secret,
)

CHOSEN, MADE, MAYBE = SecretKind.CHOSEN, SecretKind.MADE, SecretKind.MAYBE
RANDOM = "aB3dE5gH7jK9mN1p"


@pytest.mark.proves("RED-1")
def test_mark_for_a_secret_is_always_the_same():
    assert HIDDEN == "‹hidden›"


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize("value", [*("", "$X", "${X}", "<x>", "***", "xxx", "a(", "None"), HIDDEN])
def test_filler_is_recognized(value):
    assert is_filler(value)


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize("value", ["Salbei", "xx", "a$b", "hunter2"])
def test_ordinary_word_is_not_a_filler(value):
    assert not is_filler(value)


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (RANDOM, True),
        (RANDOM[:15], False),
        (f"{RANDOM} x", False),
        ("0123456789abcdef0123", False),
        ("12ab-34cd-56ef-78gh-90ij-12kl-ab", True),
        ("12ab-34cd-56ef-78gh-90ij-12kl-", False),
        ("12ab_34cd-" + "x" * 30, False),
        ("12ab_34cd-56ef_" + "x" * 30, True),
        ("some-words-and-more-words-in-a-name", False),
        ("words/aB3dE5gH7j", True),
        ("words/aB3dE5gH7", False),
        ("x1" + "abcdefghijklmnopq", False),
    ],
)
def test_random_values_are_distinguished_from_words(value, expected):
    assert is_random(value) is expected


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0123456789abcdef", True),
        ("0123456789abcde", False),
        ("sha256-anything at all", True),
        ("01234567-89ab-cdef-0123-456789abcdef", True),
        ("0123456789abcdeg", False),
    ],
)
def test_digests_are_known(value, expected):
    assert is_digest(value) is expected


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("aB3dE5gH7j", True),
        ("aB3dE5gH7", False),
        ("a1b2c3d4e5f", False),
        ("a1b2c3g4h5", True),
        ("abcdef1ghijk2", False),
        ("abc1ghi2klm3", True),
        ("abcdefgh1ijklmnopq2rstuvwxyz3", False),
        ("aB3dE5gH7j A", False),
        ("[A-Z]aB3dE5gH7j"[1:], False),
        ("aB3dE5a-zgH7j", False),
        ("aB3dE50-9gH7j", False),
        ("word/aB3dE5gH7j", True),
        ("0123456789", False),
        ("getHttpResponse2", False),
    ],
)
def test_scrambled_values_hold_no_words(value, expected):
    assert is_scrambled(value) is expected


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize(
    ("value", "place", "expected"),
    [
        ("$TOKEN", Place(CHOSEN, "="), False),
        ("/etc/keys/one", Place(CHOSEN, "=", quoted=True), False),
        ("https://example.org", Place(CHOSEN, "=", quoted=True), False),
        (RANDOM, Place(MAYBE, "=", quoted=True), True),
        ("Salbei77", Place(MAYBE, "=", quoted=True), False),
        ("config.password", Place(CHOSEN, "="), False),
        ("config.password", Place(CHOSEN, "=", quoted=True), True),
        # NAME=value, as in a shell.
        ("abc", Place(CHOSEN, "=", is_env=True), True),
        ("ab", Place(CHOSEN, "=", is_env=True, after=","), False),
        ("123", Place(CHOSEN, "=", is_env=True), True),
        ("123", Place(MADE, "=", is_env=True), False),
        ("abc", Place(MADE, "=", is_env=True), True),
        # In quotes.
        ("abc", Place(CHOSEN, "=", quoted=True), True),
        ("ab", Place(CHOSEN, "=", quoted=True), False),
        ("Salbei und Minze", Place(CHOSEN, "=", quoted=True), True),
        ('Salbei "und" Minze', Place(CHOSEN, "=", quoted=True), False),
        ('Salbei"Minze', Place(CHOSEN, "=", quoted=True), True),
        ("enter the password", Place(CHOSEN, "=", quoted=True), False),
        ("is it wrong?", Place(CHOSEN, "=", quoted=True), False),
        ("wrong?", Place(CHOSEN, "=", quoted=True), True),
        ("abc 123", Place(MADE, "=", quoted=True), False),
        ("1234567", Place(MADE, "=", quoted=True), False),
        ("abcdefgh", Place(MADE, "=", quoted=True), True),
        ("abcdefg", Place(MADE, "=", quoted=True), False),
        ("abcd-efgh", Place(MADE, "=", quoted=True), False),
        ("abc123", Place(MADE, "=", quoted=True), True),
        ("abc12", Place(MADE, "=", quoted=True), False),
        # Without quotes, chosen by a person.
        ("1234", Place(CHOSEN, ": "), True),
        ("123", Place(CHOSEN, ": "), False),
        ("a!b!", Place(CHOSEN, ": "), True),
        ("a!b", Place(CHOSEN, ": "), False),
        ("salbei", Place(CHOSEN, "=", after=","), False),
        ("sal_bei", Place(CHOSEN, "="), False),
        ("salbei", Place(CHOSEN, "="), True),
        ("salbei", Place(CHOSEN, ":** "), True),
        ("salbei", Place(CHOSEN, ": "), False),
        ("Salbei7", Place(CHOSEN, ": "), True),
        ("salbei7", Place(CHOSEN, ": "), False),
        ("Salbei", Place(CHOSEN, ": "), False),
        ("salbei", Place(CHOSEN, ": ", starts_line=True), True),
        ("salbei", Place(CHOSEN, ": ", starts_line=True, after=";"), False),
        ("Salbei", Place(CHOSEN, ": ", starts_line=True), False),
        # Without quotes, made by a machine.
        ("123456", Place(MADE, ": "), False),
        ("a1-b2c", Place(MADE, ": "), True),
        ("a1-b2", Place(MADE, ": "), False),
        ("abcdefghijklmnop", Place(MADE, ": "), True),
        ("abcdefghijklmno", Place(MADE, ": "), False),
        ("ABCDEFGHIJKLMNOP", Place(MADE, ": "), True),
        ("abcdefghIjklmnop", Place(MADE, ": "), False),
        ("abcdefghIjklmnop" * 2, Place(MADE, ": "), True),
        (("abcdefghIjklmnop" * 2)[1:], Place(MADE, ": "), False),
        ("abcdefghijklmnop", Place(MADE, ": ", after=")"), False),
        ("abcd-efgh-ijkl-mnop", Place(MADE, ": "), False),
        ("abcd!efghi", Place(MADE, ": "), True),
        ("abcd!efgh", Place(MADE, ": "), False),
        ("abcd..efghi", Place(MADE, ": "), False),
    ],
)
def test_place_says_how_a_secret_must_look(value, place, expected):
    assert is_secret(value, place) is expected


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("password", CHOSEN),
        ("dbpass", CHOSEN),
        ("bypass", None),
        ("psk", CHOSEN),
        ("user_pw", CHOSEN),
        ("token", MADE),
        ("tokens", None),
        ("tokenizer", None),
        ("api_key", MADE),
        ("key", MAYBE),
        ("primary_key", None),
        ("keyboard", None),
        ("_auth", MADE),
        ("auth", MAYBE),
        ("session_id", MAYBE),
        ("session_name", None),
        ("password_file", None),
        ("max_tokens", None),
        ("max_token", None),
        ("max_password", CHOSEN),
        ("PWD", None),
        ("OLDPWD", None),
        ("PASS", None),
        ("pwd", CHOSEN),
        ("name", None),
    ],
)
def test_name_says_how_its_secret_came_to_be(name, expected):
    assert kind_of(name) is expected


@pytest.mark.proves("RED-1")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--password abc", f"--password {HIDDEN}"),
        ("--password ab", "--password ab"),
        ("--password abc:", "--password abc:"),
        ("--password ABC", "--password ABC"),
        ("-password abc", f"-password {HIDDEN}"),
        ("--token abc12d", f"--token {HIDDEN}"),
        ("--token abcdefgh", "--token abcdefgh"),
        ("ENV DB_PASS abc", f"ENV DB_PASS {HIDDEN}"),
        ("name: DB_PASS, value: Salbei", f"name: DB_PASS, value: {HIDDEN}"),
        ("name: DB_HOST, value: Salbei", "name: DB_HOST, value: Salbei"),
        ("NAME=DB_PASS VALUE=Salbei", f"NAME=DB_PASS VALUE={HIDDEN}"),
        ("<pass>Salbei</pass>", f"<pass>{HIDDEN}</pass>"),
        ("<prop name='pass'>Salbei</prop>", f"<prop name='pass'>{HIDDEN}</prop>"),
        ("<host>Salbei</host>", "<host>Salbei</host>"),
        ("'DB_PASS=two words'", f"'DB_PASS={HIDDEN}'"),
        ("'DB_HOST=two words'", "'DB_HOST=two words'"),
        ("password: |\n  Salbei", f"password: |\n  {HIDDEN}"),
        ("hostname: |\n  Salbei", "hostname: |\n  Salbei"),
        ("the token is abc12!", "the token is abc12!"),
        ("the token is abc123!", f"the token is {HIDDEN}!"),
        ("the token is abc12d, ok", f"the token is {HIDDEN}, ok"),
        ("the token is 123456", "the token is 123456"),
        ("the token is abcdef", "the token is abcdef"),
        ("the token is abc$ef", f"the token is {HIDDEN}"),
        ("the pin for ada was abc12d", f"the pin for ada was {HIDDEN}"),
        ("the token, I think, aB3dE5gH7j", f"the token, I think, {HIDDEN}"),
        ("the token:\naB3dE5gH7j", f"the token:\n{HIDDEN}"),
        ("the token\naB3dE5gH7j", "the token\naB3dE5gH7j"),
        ("the token he has\naB3dE5gH7j", "the token he has\naB3dE5gH7j"),
        (f"token {'x ' * 44}aB3dE5gH7j", f"token {'x ' * 44}{HIDDEN}"),
        (f"token {'x ' * 50}aB3dE5gH7j", f"token {'x ' * 50}aB3dE5gH7j"),
        ("password Salbei77", f"password {HIDDEN}"),
        ("password to Salbei77", f"password to {HIDDEN}"),
        ("f(password=password)", "f(password=password)"),
        ("password=read(x)", "password=read(x)"),
        ("PASSWORD=a,b;c", f"PASSWORD={HIDDEN}"),
        ("x password=abcd;c", f"x password={HIDDEN};c"),
        ("x password=abcd.", f"x password={HIDDEN}."),
        ("API key: aB3dE5gH", f"API key: {HIDDEN}"),
        ("the key: aB3dE5gH", "the key: aB3dE5gH"),
        ('f(token=f"a{b}")', 'f(token=f"a{b}")'),
        ("\\ntoken=aB3dE5gH", f"\\ntoken={HIDDEN}"),
    ],
)
def test_edges_of_names_and_values(text, shown):
    assert hide_secrets(text) == shown
