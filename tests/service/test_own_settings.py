"""The settings file of a person, as gate setup changes it."""

from __future__ import annotations

import tomllib

import pytest

from gatebell.errors import UsageError
from gatebell.install import own_settings

URL = "https://gate.example.org"


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".config" / "gatebell" / "config.toml"


@pytest.fixture
def environ(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / ".config")}


def put(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f'url = "{URL}"\n'),
        ('dialog = "off"', f'url = "{URL}"\ndialog = "off"'),
        (
            '# mine\nurl = "https://old"  # old\npool = "a"\n',
            f'# mine\nurl = "{URL}"\npool = "a"\n',
        ),
        ('[models.claude]\nheavy = "x"\n', f'url = "{URL}"\n[models.claude]\nheavy = "x"\n'),
        ('[templates]\nurl = "a text"\n', f'url = "{URL}"\n[templates]\nurl = "a text"\n'),
    ],
)
@pytest.mark.proves("SETUP-6")
def test_address_is_set_and_other_lines_stay(file, environ, before, after):
    put(file, before)
    assert own_settings.set_url(environ, URL)
    assert file.read_text() == after
    assert not own_settings.set_url(environ, URL)


@pytest.mark.parametrize("before", ["", 'url = "https://x"', '[[notify]]\nto = "desktop"\n'])
@pytest.mark.proves("SETUP-6")
def test_route_is_added_after_the_others(file, environ, before):
    put(file, before)
    own_settings.add_route(environ, "ntfys://ntfy.sh/a")
    text = file.read_text()
    assert text.startswith(before)
    assert tomllib.loads(text)["notify"][-1] == {"to": "ntfys://ntfy.sh/a"}


@pytest.mark.proves("SETUP-6")
def test_new_file_is_private_and_old_mode_stays(file, environ):
    own_settings.add_route(environ, "desktop")
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    own_settings.set_url(environ, URL)
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "before",
    [
        'url = """\nhttps://old"""\n',
        '"url" = "https://old"\n',
        "templates = {url = 1\n",
        'store = """\nurl = "x"\n"""\n',
    ],
)
@pytest.mark.proves("SETUP-6")
def test_file_that_cannot_be_changed_safely_stays(file, environ, before):
    put(file, before)
    with pytest.raises(UsageError):
        own_settings.set_url(environ, URL)
    assert file.read_text() == before


@pytest.mark.proves("SETUP-6")
def test_list_of_routes_in_one_line_stays(file, environ):
    put(file, before := 'notify = [{to = "desktop"}]\n')
    with pytest.raises(UsageError, match="there yourself"):
        own_settings.add_route(environ, "ntfys://ntfy.sh/a")
    assert file.read_text() == before
