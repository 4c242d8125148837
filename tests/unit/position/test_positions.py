"""Positions as text, readers and what comes next: pure."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_core.cdc.model.claims import Claim
from table_core.cdc.source.diverged import refuse_diverged
from table_core.errors import (
    ArgumentError,
    CorruptFileError,
    ErrorKind,
    EventError,
    OutcomeUnknownError,
    PositionDivergedError,
    SourceDivergedError,
    UnsupportedFeatureError,
    error_from_document,
    error_to_document,
)
from table_core.position import files as files_module
from table_core.position.decide import (
    Diverged,
    FilesNow,
    GoOn,
    LogNow,
    Start,
    TableNow,
    TopicsNow,
    what_next,
)
from table_core.position.document import Position, Positions
from table_core.position.files import FileFacts, FilesTaken
from table_core.position.gtids import gtids_after, gtids_contain
from table_core.position.lines import FilesRead, OffsetsPlace, Taken
from table_core.position.log import LogPlace
from table_core.position.packed import packed
from table_core.position.place import SnapshotPlace
from table_core.position.reader import Reader, ReaderKind, require_position_name
from table_core.position.source import FilesId, MySqlId, PostgresId, TableId, TopicsId

READER = Reader(ReaderKind.FLOW, "sales")
ORDERS = TableId(location="file:///wh/shop.db/orders", birth="1-a")
FIVE = SnapshotPlace(id=5, mark="list-5", time_ms=50)


def stored(source: object = ORDERS, place: object = FIVE) -> Position:
    return Position(READER, source, place)  # type: ignore[arg-type]


def now(head: int, at: SnapshotPlace | None = None, **more: object) -> TableNow:
    source = more.pop("source", ORDERS)
    newest = SnapshotPlace(id=head, mark=f"list-{head}", time_ms=head * 10)
    return TableNow(source=source, head=newest, at=at, **more)  # type: ignore[arg-type]


def reason(stored: Position, now: object) -> str:
    found = what_next(stored, now)  # type: ignore[arg-type]
    return found.reason if isinstance(found, Diverged) else type(found).__name__


# --------------------------------------------------------------------------------------- text
EVERY = [
    (ORDERS, FIVE),
    (replace(ORDERS, branch="b"), SnapshotPlace(id=0)),
    (
        FilesId(folder="file:///in", pattern="*/*.jsonl"),
        FilesRead(
            files={
                "file:///in/a/1.jsonl": Taken(3, 90, "ab"),
                "1": Taken(1, 2),
                "2": Taken(1, 2, "", "5e"),
            }
        ),
    ),
    (
        FilesId(folder="s3://in"),
        FilesTaken().after([FileFacts(path="s3://in/a", size=1, modified_ms=-5)]),
    ),
    (TopicsId(cluster="c", topics={"t": "id"}), OffsetsPlace(offsets={("t", 0): 3, ("t", 11): 0})),
    (MySqlId(server="u"), LogPlace("mysql", (3, 400), "binlog.000003", "u:1-5", 2, xa={"x": None})),
    (
        PostgresId(system="s", slot="p", timeline="1"),
        LogPlace("postgres", (9, 0), snapshots={"a": [1]}),
    ),
]


@pytest.mark.parametrize(("source", "place"), EVERY)
def test_text_and_back_is_the_same_position(source: object, place: object) -> None:
    position = stored(source, place)
    assert Positions.parse(position.text) == Positions((position,))
    assert "\n" not in position.text


def test_many_files_are_packed_and_come_back() -> None:
    path = "s3://lake/events/dt=2026-11-{:02}/part-{:05}.jsonl"
    files = {path.format(n % 28, n): Taken(n, 90 * n, f"{n:032x}", f"{n:08x}") for n in range(2000)}
    source, place = FilesId(folder="s3://lake"), FilesRead(files=files)
    position = stored(source, place)
    assert Positions.parse(position.text) == Positions((position,))
    plain = sum(len(path) + len(str(taken)) for path, taken in files.items())
    assert len(position.text) < plain / 4
    document = place.to_document()
    assert document["files"] == 2000
    for wrong in (
        "",
        "AAAA",
        document["packed"][:-8],
        5,
        packed({"a": {"b": ["1", 2]}}),
        packed([]),
    ):
        with pytest.raises((ValueError, AttributeError)):
            FilesRead.from_document({**document, "packed": wrong})
    short = place.short
    assert FilesRead.parse(short).marked_by(place) == place
    assert len(short) < plain / 8
    for wrong in ('"packed":5', '"packed":"AAAA"', f'"packed":"{packed([])}"'):
        with pytest.raises(EventError, match="was not written by a source of files"):
            FilesRead.parse(f'{{"v":1,"files":3,{wrong}}}')


@pytest.mark.parametrize("text", [None, "17", "part-1.parquet", '{"v":1,"files":{}}', "{", "[1]"])
def test_what_earlier_releases_stored_is_told_apart(text: str | None) -> None:
    assert Positions.parse(text) is None


def test_what_a_newer_release_stored_is_refused_and_damage_is_named() -> None:
    with pytest.raises(UnsupportedFeatureError, match="newer release"):
        Positions.parse('{"v":3,"positions":[]}')
    with pytest.raises(CorruptFileError):
        Positions.parse('{"v":2,"positions":[{"reader":{"kind":"flow"}}]}')


def test_members_that_are_not_known_are_kept() -> None:
    text = json.dumps({"v": 2, "positions": [], "more": {"a": 1}}, separators=(",", ":"))
    found = Positions.parse(text)
    assert found is not None
    assert found.text == text


# ------------------------------------------------------------------------------------ readers
def test_readers_are_told_apart_by_kind_and_name_and_nameless_ones_by_what_they_do() -> None:
    assert READER.is_same(Reader(ReaderKind.FLOW, "sales", "other"))
    assert not READER.is_same(Reader(ReaderKind.SYNC, "sales"))
    assert not READER.is_same(Reader(ReaderKind.FLOW, "stock"))
    assert Reader(ReaderKind.FLOW, "a", "x").is_same(Reader(ReaderKind.FLOW, "b", "x"))
    assert not Reader(ReaderKind.FLOW).is_same(Reader(ReaderKind.FLOW))


def test_each_reader_has_its_own_place_in_each_source() -> None:
    other = replace(ORDERS, location="file:///wh/shop.db/other", birth="2-b")
    mine, theirs = stored(), Position(Reader(ReaderKind.FLOW, "stock"), ORDERS, FIVE)
    held = Positions((mine, theirs, stored(other, SnapshotPlace(id=9))))
    assert held.of(READER, ORDERS) == mine
    assert held.of(READER, other).place.id == 9  # type: ignore[union-attr]
    assert held.of(Reader(ReaderKind.FLOW, "new"), ORDERS) is None
    assert held.others(READER, ORDERS) == [theirs]
    moved = held.moved(stored(place=SnapshotPlace(id=6)))
    assert (len(moved.held), moved.of(READER, ORDERS).place.id) == (3, 6)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["orders.pos", "", "tc.", "tc", "TC.x", "tc.commits"])
def test_names_that_no_commit_carries_on_are_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match="cannot name a position"):
        require_position_name("position", name)
    assert require_position_name("position", "tc.orders") == "tc.orders"


# ------------------------------------------------------------------------------------- tables
def test_a_reader_goes_on_from_the_very_snapshot_it_has_read_wherever_the_table_went() -> None:
    moved = replace(ORDERS, location="file:///wh/shop.db/orders_old")
    assert what_next(stored(), now(7, FIVE)) == GoOn(FIVE)
    assert what_next(stored(), now(7, FIVE, source=moved)) == GoOn(FIVE)
    assert what_next(stored(), now(7, FIVE, source=replace(ORDERS, branch="b"))) == GoOn(FIVE)
    assert what_next(None, now(7)) == Start()


def test_a_snapshot_that_expired_is_no_divergence_where_later_ones_are_there() -> None:
    six = SnapshotPlace(id=6, mark="list-6", time_ms=60)
    assert reason(stored(), now(9, earliest=six)) == "GoOn"
    assert reason(stored(), now(9, earliest=replace(six, time_ms=40))) == "rolled-back"
    assert reason(stored(), now(9, earliest=replace(six, id=4))) == "rolled-back"


def test_another_snapshot_of_that_number_is_a_divergence() -> None:
    another = replace(FIVE, mark="list-5b")
    assert reason(stored(), now(7, another)) == "rolled-back"
    assert reason(stored(), now(7, another, source=replace(ORDERS, birth="2-b"))) == "made-anew"
    assert reason(stored(), now(4)) == "rolled-back"
    assert reason(stored(), now(0)) == "rolled-back"


def test_a_table_of_another_birth_is_a_divergence_though_numbers_and_expiry_hide_it() -> None:
    anew = replace(ORDERS, birth="2-b")
    late = SnapshotPlace(id=8, mark="x", time_ms=900)
    assert reason(stored(), now(9, source=anew, earliest=late)) == "made-anew"
    markless = SnapshotPlace(id=5)
    assert reason(stored(place=markless), now(9, FIVE, source=anew)) == "made-anew"
    assert reason(stored(place=markless), now(9, FIVE)) == "GoOn"


def test_nothing_is_lost_where_nothing_was_read() -> None:
    empty = SnapshotPlace(id=0)
    anew = replace(ORDERS, birth="2-b")
    assert what_next(stored(place=empty), now(9, source=anew)) == GoOn(empty)


def test_the_error_says_who_where_and_the_ways_out_and_crosses_processes() -> None:
    found = what_next(stored(), now(4))
    assert isinstance(found, Diverged)
    error = found.error()
    assert isinstance(error, OutcomeUnknownError)
    assert error.kind is ErrorKind.UNKNOWN_OUTCOME
    assert "position reset" in str(error)
    assert "sales" in str(error)
    assert error.facts["reason"] == "rolled-back"
    again = error_from_document(error_to_document(error))
    assert type(again) is PositionDivergedError


# -------------------------------------------------------------------------------------- files
def facts(path: str, size: int = 1, ms: int = 1, tag: str = "") -> FileFacts:
    return FileFacts(path=path, size=size, modified_ms=ms, tag=tag)


def test_files_of_equal_names_in_other_folders_and_late_ones_are_new() -> None:
    days = [facts(f"in/{day}/part-{n}") for day in ("1", "2") for n in (8, 9)]
    place = FilesTaken().after(days[:2])
    assert place.look(days).new == tuple(days[2:])
    place = place.after(days)
    for late in ("in/1/part-10", "in/1/a", "in/3/part-8"):
        assert [f.path for f in place.look([*days, facts(late, ms=0)]).new] == [late]


@pytest.mark.parametrize(
    "now_it_is", [facts("a", 2, tag="d"), facts("a", 1, 2, "d"), facts("a", tag="e"), facts("a")]
)
def test_a_file_that_changed_under_its_name_is_noticed(now_it_is: FileFacts) -> None:
    position = stored(FilesId(folder="f"), FilesTaken().after([facts("a", tag="d")]))
    assert reason(position, FilesNow(source=FilesId(folder="f"), listing=(now_it_is,))) == "changed"


def test_files_whose_store_tells_of_their_content_only_now_may_be_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files_module, "FILES_MAX", 1)
    names = "abc"
    place = FilesTaken().after([facts(name, ms=n) for n, name in enumerate(names)])
    tagged = [facts(name, ms=n, tag="d") for n, name in enumerate(names)]
    look = place.look([*tagged, facts("d", ms=9, tag="d")])
    assert look.new == (facts("d", ms=9, tag="d"),)
    assert (look.unclear, look.changed) == (tuple(tagged[:2]), (tagged[2],))


@st.composite
def landings(draw: st.DrawFn) -> list[list[FileFacts]]:
    """Folders that come one after the other, each listing with files that are new or were there."""
    days = []
    clock = 0
    for day in range(draw(st.integers(1, 6))):
        there: list[FileFacts] = []
        for _ in range(draw(st.integers(1, 3))):
            for _ in range(draw(st.integers(0, 4))):
                clock += draw(st.integers(0, 1))
                there.append(
                    facts(f"{day}/{len(there)}", ms=max(0, clock - draw(st.integers(0, 3))))
                )
            days.append(list(there))
    return days


@given(landings(), st.integers(1, 5))
def test_each_file_is_taken_once_or_said_to_be_unclear_however_few_are_known(
    listings: list[list[FileFacts]], known_max: int
) -> None:
    before, files_module.FILES_MAX = files_module.FILES_MAX, known_max
    try:
        place, taken = FilesTaken(), set[str]()
        for listing in listings:
            look = place.look(listing)
            assert not look.changed
            if look.unclear:
                return  # loud
            assert {f.path for f in look.new} == {f.path for f in listing} - taken
            taken |= {f.path for f in look.new}
            place = FilesTaken.from_document(
                {k: v for k, v in place.after(listing).to_document().items() if k != "kind"}
            )
            assert len(place.known) <= known_max
            assert place.look(listing) == files_module.Look()
    finally:
        files_module.FILES_MAX = before


# ---------------------------------------------------------------------------- topics and logs
def test_topics_that_were_made_anew_or_went_back_or_lost_records_diverge() -> None:
    source = TopicsId(topics={"t": "one"})
    position = stored(source, OffsetsPlace(offsets={("t", 0): 5}))

    def next_of(first: int, end: int, id: str = "one") -> str:
        ends = {("t", 0): (first, end)}
        return reason(position, TopicsNow(source=TopicsId(topics={"t": id}), ends=ends))

    assert next_of(0, 5) == next_of(5, 9, "") == "GoOn"
    assert next_of(0, 4) == "went-back"
    assert next_of(0, 9, "two") == "made-anew"
    assert next_of(6, 9) == "expired"
    both = TopicsNow(
        source=TopicsId(topics={"t": "one", "u": "x"}), ends={("t", 0): (0, 9), ("u", 0): (0, 1)}
    )
    assert what_next(position, both) == GoOn(position.place, ("u",))


def test_logs_that_went_back_or_are_of_another_server_diverge() -> None:
    place = LogPlace("mysql", (100, 4), "binlog.000100", "aa:1-9")
    position = stored(MySqlId(server="aa"), place)

    def next_of(server: str, first: int, end: int, gtids: str = "") -> str:
        source = MySqlId(server=server)
        return reason(position, LogNow(source=source, first=(first, 4), end=(end, 4), gtids=gtids))

    assert next_of("aa", 1, 100) == next_of("aa", 1, 101, "aa:1-20") == "GoOn"
    assert next_of("aa", 1, 2) == next_of("aa", 1, 200, "aa:1-3") == "went-back"
    assert next_of("aa", 101, 102) == "expired"
    assert next_of("bb", 1, 200) == "made-anew"
    assert next_of("bb", 1, 3, "aa:1-9,bb:1-4") == "GoOn"  # a replica that took over
    slot = stored(PostgresId(system="s", slot="p", timeline="1"), LogPlace("postgres", (900, 0)))
    anew = LogNow(
        source=PostgresId(system="s", slot="p", timeline="1"), first=(950, 0), end=(999, 0)
    )
    assert reason(slot, anew) == "expired"
    assert reason(slot, replace(anew, first=(0, 0))) == "GoOn"
    assert reason(slot, replace(anew, source=PostgresId(system="t"), first=(0, 0))) == "made-anew"
    for other, why in (
        (PostgresId(system="t", slot="p", timeline="1"), "another server"),
        (PostgresId(system="s", slot="q", timeline="1"), "another replication slot"),
        (PostgresId(system="s", slot="p", timeline="2"), "a standby was promoted"),
    ):
        found = what_next(slot, replace(anew, source=other, first=(0, 0)))
        assert isinstance(found, Diverged)
        assert why in found.why


def test_sets_of_transactions_contain_others() -> None:
    assert gtids_contain("aa:1-5:6-9,bb:1", "AA:2-7")
    assert not gtids_contain("aa:1-5:7-9", "aa:5-7")
    assert gtids_contain("0-1-50,1-2-3", "0-9-50")
    assert not gtids_contain("0-1-49", "0-1-50")
    assert gtids_contain("aa:tag:1-3", "aa:tag:2")
    assert not gtids_contain("aa:1-3", "aa:tag:2")


def test_a_transaction_joins_the_set_of_those_before_it() -> None:
    assert gtids_after("", "0-1-7") == "0-1-7"
    assert gtids_after("0-1-7,3-1-2", "0-2-8") == "0-2-8,3-1-2"
    assert gtids_after("0-1-7", "10-1-1") == gtids_after("10-1-1", "0-1-7") == "0-1-7,10-1-1"
    assert gtids_after("aa:1-4,bb:2", "aa:5") == "aa:1-5,bb:2"
    assert gtids_after("aa:1-4", "aa:9") == "aa:1-4:9"


def test_a_promoted_standby_is_refused_wherever_it_is_and_another_system_elsewhere_is_not() -> None:
    read = PostgresId(system="s", slot="db/slot", timeline="1")
    claim = Claim(
        source=read, route="r", at=LogPlace("postgres", (900, 0), "slot"), address="old:5432/db"
    )

    def look(**other: str) -> None:
        now = LogNow(source=replace(read, **other), first=(0, 0), end=(999, 0))
        refuse_diverged(claim, now, "new:5432/db")

    for other in ({"timeline": "2"}, {"slot": "db/another"}):
        with pytest.raises(SourceDivergedError, match=r"tc\.source\.positions"):
            look(**other)
    look(system="t")
    look(slot="other_database/slot")
