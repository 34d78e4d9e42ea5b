"""Each pair of statements that may write or lock one row is interleaved, or has a reason.

The pairs are read from the SQL. What the verbs of a scene run is noticed while they run alone; the
tests of the scene cross each of its verbs with each.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest
from tests.support.interleaved_rows import (
    Files,
    Frozen,
    Grant,
    Groups,
    Hosts,
    Mail,
    NewFile,
    Posting,
    Shadow,
    Team,
)
from tests.support.interleaved_work import (
    AnsweredAsk,
    Needs,
    OneAsk,
    OneRun,
    Opening,
    SecretAsk,
    Session,
    Working,
    list_verbs,
)
from tests.support.interleaving import together
from tests.support.postgres_server import empty_database

from gatebell.adapters import postgres
from gatebell.adapters.tables import statements
from gatebell.adapters.tables.statements import Statements
from gatebell.errors import GateError

__all__ = ["together"]

_FOLDER = str(Path(postgres.__file__).parent)
_REASONS = Path(__file__).parent / "pairs_not_interleaved.txt"
_WORK = (OneAsk, SecretAsk, AnsweredAsk, Opening, OneRun, Session, Needs, Working)
_ROWS = (Team, Groups, Grant, Shadow, Frozen, Posting, Files, NewFile, Hosts, Mail)
_WRITES = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_ADVISORY = re.compile(r"advisory_xact_lock\w*\((\d+)")


def list_rows():
    """Return the statements that write or lock rows, by table, or by the number of a lock."""
    found = {}
    for noun in statements.list_nouns(_FOLDER):
        for name, sql in statements.load(noun, _FOLDER).items():
            text = re.sub(r"--.*|DO UPDATE|FOR UPDATE SKIP LOCKED", "", sql)
            tables = {*_WRITES.findall(re.sub(r"FOR UPDATE", "", text)), *_ADVISORY.findall(text)}
            if "FOR UPDATE" in text or "FOR SHARE" in text:
                tables.add(_read_locked(text))
            for table in tables:
                found.setdefault(table, set()).add(name)
    return found


def _read_locked(text):
    if named := re.search(r"FOR (?:UPDATE|SHARE) OF (\w+)", text):
        return named[1]
    return re.search(r"FROM (\w+)", text)[1]


def list_pairs():
    """Return each pair of statements that share a table: the pair and the table."""
    return {
        (table, *pair)
        for table, names in list_rows().items()
        for pair in combinations_with_replacement(sorted(names), 2)
    }


def read_reasons():
    """Return the stated pairs with their reasons; `*` means each statement of the table."""
    lines = _REASONS.read_text(encoding="utf-8").splitlines()
    return [line.split("  ", 1)[0].split() for line in lines if line and line[0] != "#"]


def is_stated(pair, stated):
    table, *names = pair
    wanted, *words = stated
    return table == wanted and any(
        all(word in ("*", name) for word, name in zip(words, order, strict=True))
        for order in (names, names[::-1])
    )


@pytest.fixture
def ran(monkeypatch):
    """Return the names of the statements that have run since it was emptied."""
    found = set()
    for kind in ("write", "lock", "rows"):
        run = getattr(Statements, kind)

        def notice(self, name, *parameters, run=run):
            # A thread of the store seals events at any time.
            if threading.current_thread() is threading.main_thread():
                found.add(name)
            return run(self, name, *parameters)

        monkeypatch.setattr(Statements, kind, notice)
    return found


def run_alone(store, scene, verb, ran):
    made = scene(store)
    ran.clear()
    # A refused verb, such as a second answer, has run statements, too.
    with suppress(GateError):
        getattr(made, verb)(store)
    return frozenset(ran)


@pytest.mark.proves("PG-3")
def test_every_pair_that_shares_a_row_is_interleaved(together, ran):
    crossed, stated = set(), read_reasons()
    for scene in (*_WORK, *_ROWS):
        by_verb = []
        for verb in list_verbs(scene):
            by_verb.append(run_alone(together.store, scene, verb, ran))
            empty_database()
        for one, two in product(by_verb, repeat=2):
            crossed |= set(product(one, two))
    pairs = list_pairs()
    left = {pair for pair in pairs if pair[1:] not in crossed and pair[:0:-1] not in crossed}
    missing = {pair for pair in left if not any(is_stated(pair, one) for one in stated)}
    assert sorted(missing) == [], "interleave them, or give a reason"
    useless = [one for one in stated if not any(is_stated(pair, one) for pair in left)]
    assert useless == [], "these are interleaved, or share no row"
