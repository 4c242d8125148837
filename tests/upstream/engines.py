"""Merge engines: which row stays of those with one key.

Facts from ``PartialUpdateMergeFunctionTest``, ``PartialUpdateITCase``, ``FirstRowITCase``, ``BatchFileStoreITCase``,
``SequenceGroupITCase`` and pypaimon's ``reader_primary_key_test``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.upstream.play import area, case, shape
from tests.upstream.shapes import KV
from tests.upstream.steps import changes, do, follows, put, refused, rows, snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case, Row, Step

__all__ = ["CASES"]

N = None
TWO = shape("j INT, k INT, a INT, b INT, c STRING", key="j, k", bucket="1")
PARTED = shape("k INT, v INT, d INT", key="k, d", partition="d", bucket="1")
SEVEN = shape("k INT, a INT, b INT, g INT, c INT, d INT, h INT", key="k", bucket="1")
EIGHT = shape("k INT, a INT, b INT, g INT, c INT, d INT, h INT, i INT", key="k", bucket="1")
NINE = shape(
    "k INT, a INT, b INT, g1 INT, g2 INT, c INT, d INT, h1 INT, h2 INT", key="k", bucket="1"
)
FIRST = shape("a INT, b INT, c STRING", key="a", bucket="1").with_options(
    {"merge-engine": "first-row"}
)
PARTIAL = {"merge-engine": "partial-update"}
GROUPS = {**PARTIAL, "fields.g.sequence-group": "a,b", "fields.h.sequence-group": "c,d"}
PAIRS = {**PARTIAL, "fields.g1,g2.sequence-group": "a,b", "fields.h1,h2.sequence-group": "c,d"}
LAST = {"fields.default-aggregate-function": "last_non_null_value"}

DEDUPLICATE = (
    case("the later of two rows with one key stays", KV, put((1, "a")), put((1, "b")), rows((1, "b"))),
    case("the later of two rows in one write stays", KV, put((1, "a"), (1, "b")), rows((1, "b"))),
    case("a delete takes the row away", KV, put((1, "a"), (2, "b")), put(("-D", 1, "a")), rows((2, "b"))),
    case("an update's old half takes the row away, if nothing follows", KV, put((1, "a")), put(("-U", 1, "a")), rows()),
    case("an update's new half replaces the row", KV, put((1, "a")), put(("-U", 1, "a"), ("+U", 1, "b")), rows((1, "b"))),
    case("a delete of a key that is not there changes nothing", KV, put((1, "a")), put(("-D", 9, N)), rows((1, "a"))),
    case("a row comes back after its delete", KV, put((1, "a")), put(("-D", 1, "a")), put((1, "c")), rows((1, "c"))),
    case("a full compaction drops deletes and keeps the rows", KV, put((1, "a"), (2, "b")), put(("-D", 1, "a")), do("compact"), rows((2, "b"))),
    case("NULL replaces a value", KV, put((1, "a")), put((1, N)), rows((1, N))),
    case("deletes can be ignored", KV, put((1, "a")), put(("-D", 1, "a")), rows((1, "a")), options={"ignore-delete": "true"}),
    case("old halves of updates can be ignored", KV, put((1, "a")), put(("-U", 1, "a")), rows((1, "a")), options={"ignore-update-before": "true"}),
    case("old halves can be ignored and deletes taken", KV, put((1, "a")), put(("-D", 1, "a")), rows(), options={"ignore-update-before": "true"}),
    case("a column can carry the kind of a row", shape("k INT, v STRING, op STRING", key="k", bucket="1"), put((1, "a", "+I"), (2, "b", "+I")), put((1, "a", "-D")), rows((2, "b", "+I")), options={"rowkind.field": "op"}),
    case("a column that carries the kind takes no other text", shape("k INT, op STRING", key="k", bucket="1"), refused(put((1, "delete")), "delete"), options={"rowkind.field": "op"}),
    case("keys of two columns are one key", TWO, put((1, 2, 3, N, "x")), put((1, 2, 4, 5, N), (1, 3, 1, 1, "y")), rows((1, 2, 4, 5, N), (1, 3, 1, 1, "y"))),
    case("the same key in two partitions is two rows", PARTED, put((1, 1, 1), (1, 2, 2)), put((1, 9, 2)), rows((1, 1, 1), (1, 9, 2))),
    case("columns are projected after the merge", KV, put((1, "a")), put((1, "b")), rows(("b",), columns=["v"])),
    case("a condition is applied after the merge", KV, put((1, "a")), put((1, "b")), rows(where="v = 'a'")),
    case("rows merge before they are written, if told to", PARTED, put((1, 1, 1), (2, 1, 1), (1, 2, 1)), rows((1, 2, 1), (2, 1, 1)), options={"local-merge-buffer-size": "5 mb"}),
    case("a key is NOT NULL", KV, refused(put((N, "a")), "k")),
    case("a nullable key takes NULL once", KV, put((N, "a")), put((N, "b"), (1, "c")), rows((N, "b"), (1, "c")), options={"primary-key.nullable": "true"}),
    case("a nullable key with NULL is compacted", KV, put((N, "a")), put((N, "b")), do("compact"), rows((N, "b")), options={"primary-key.nullable": "true"}),
)  # fmt: skip


def ordered(width: int, steps: tuple[tuple[Row, Row], ...]) -> tuple[Step, ...]:
    """Rows put one after the other, each with the one row that is there then."""
    made: list[Step] = []
    for row, expected in steps:
        made += [put(row), rows(expected)]
        assert len(expected) == width
    return tuple(made)


PARTIAL_UPDATE = (
    case("columns that are NULL keep their value", TWO, *ordered(5, (((1, 2, 3, N, N), (1, 2, 3, N, N)), ((1, 2, 4, 5, N), (1, 2, 4, 5, N)), ((1, 2, 4, N, "6"), (1, 2, 4, 5, "6")))), options=PARTIAL),
    case("rows of one write fill each other up", TWO, put((1, 2, 3, N, "5"), (1, 2, N, 6, N)), rows((1, 2, 3, 6, "5")), options=PARTIAL),
    case("a projection sees the filled row", TWO, put((1, 2, 3, N, N)), put((1, 2, 4, 5, N)), rows((4,), columns=["a"]), options=PARTIAL),
    case("a condition over filled columns matches", TWO, put((1, 2, 4, 5, N)), put((1, 2, 4, N, "6")), rows((1, 2, 4, 5, "6"), where="b = 5 and c = '6'"), options=PARTIAL),
    case("a full compaction keeps the filled row", TWO, put((1, 3, N, 1, "1")), put((1, 3, 2, 3, N)), put((1, 3, N, 4, N)), do("compact"), rows((1, 3, 2, 4, "1")), options=PARTIAL),
    case("rows fill each other before they are written, if told to", PARTED, put((1, N, 1), (2, 1, 1), (1, 2, 1)), rows((1, 2, 1), (2, 1, 1)), options={**PARTIAL, "local-merge-buffer-size": "5 mb"}),
    case("some columns can be written alone", TWO, put((1, 2, 3), columns="j, k, a"), put((1, 2, "x"), columns="j, k, c"), rows((1, 2, 3, N, "x")), options=PARTIAL),
    case("a delete is refused", TWO, put((1, 2, 3, N, N)), refused(put(("-D", 1, 2, 3, N, N)), "ignore-delete"), options=PARTIAL),
    case("an old half of an update is refused", TWO, put((1, 2, 3, N, N)), refused(put(("-U", 1, 2, 3, N, N)), "ignore-delete"), options=PARTIAL),
    case("deletes can be ignored", TWO, put((1, 2, 3, N, "a")), put(("-D", 1, 2, 3, N, N)), put((1, 2, N, 7, N)), rows((1, 2, 3, 7, "a")), options={**PARTIAL, "ignore-delete": "true"}),
    case("a delete can remove the record", TWO, put((1, 2, 3, N, "a")), put(("-D", 1, 2, N, N, N)), rows(), put((1, 2, N, 7, N)), rows((1, 2, N, 7, N)), options={**PARTIAL, "partial-update.remove-record-on-delete": "true"}),
    case("a statement can delete, where deletes remove the record", TWO, put((1, 2, 3, N, "a"), (2, 2, 1, 1, "b")), do("delete", "j = 1"), rows((2, 2, 1, 1, "b")), options={**PARTIAL, "partial-update.remove-record-on-delete": "true"}),
    case("removed and filled again, the lookup changelog says so", shape("k INT, a STRING, b STRING", key="k", bucket="1"), put((1, N, "apple")), put(("-D", 1, N, "apple")), put((1, N, "apache")), put((1, "A", N)), rows((1, "A", "apache")), changes((1, N, "apple"), ("-D", 1, N, "apple"), (1, N, "apache"), ("-U", 1, N, "apache"), ("+U", 1, "A", "apache"), mode="changelog"), options={**PARTIAL, "partial-update.remove-record-on-delete": "true", "changelog-producer": "lookup"}),
    case("ignored deletes are in no changelog", shape("k INT, a STRING, b STRING", key="k", bucket="1"), put((1, N, "apple")), put(("-D", 1, N, "apple")), put((1, "A", N)), rows((1, "A", "apple")), changes((1, N, "apple"), ("-U", 1, N, "apple"), ("+U", 1, "A", "apple"), mode="changelog"), options={**PARTIAL, "ignore-delete": "true", "changelog-producer": "lookup"}),
    case("a stream of filled rows needs a producer", TWO, put((1, 2, 3, N, N)), refused(follows(), "changelog-producer"), options=PARTIAL),
    case("with the input producer, a stream has the rows as they came", shape("a INT, b INT, c INT", key="a", bucket="1"), put((1, N, 1)), put((1, 1, N), (2, 2, 2)), changes((1, N, 1), (1, 1, N), (2, 2, 2), mode="changelog"), options={**PARTIAL, "changelog-producer": "input"}),
    case("a sequence field orders rows before they fill each other", shape("k INT, a INT, b INT, s INT", key="k", bucket="1"), put((1, 1, N, 2)), put((1, 9, 5, 1)), rows((1, 1, 5, 2)), options={**PARTIAL, "sequence.field": "s"}),
    case("DELETE by statement is refused where the engine cannot", TWO, put((1, 2, 3, N, N)), refused(do("delete", "j = 1"), "partial-update"), options=PARTIAL),
    case("UPDATE by statement fills columns", TWO, put((1, 2, 3, N, "x")), do("update", {"b": "8"}, "j = 1"), rows((1, 2, 3, 8, "x")), options=PARTIAL),
)  # fmt: skip

SEQUENCE_GROUPS = (
    case("a group whose sequence is NULL is left alone", SEVEN, *ordered(7, (((1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1, 1)), ((1, 2, 2, 2, 2, 2, N), (1, 2, 2, 2, 1, 1, 1)))), options=GROUPS),
    case("a group with a smaller sequence is left alone", SEVEN, put((1, 2, 2, 2, 1, 1, 1)), put((1, 3, 3, 1, 3, 3, 3)), rows((1, 2, 2, 2, 3, 3, 3)), options=GROUPS),
    case("a group with the same sequence is replaced", SEVEN, put((1, 1, 1, 5, 1, 1, 1)), put((1, 2, 2, 5, N, N, N)), rows((1, 2, 2, 5, 1, 1, 1)), options=GROUPS),
    case("NULL replaces inside a group", SEVEN, put((1, 1, 1, 1, 3, 3, 3)), put((1, 5, 5, 3, 5, N, 4)), rows((1, 5, 5, 3, 5, N, 4)), options=GROUPS),
    case("a projection without the sequence is ordered by it", SEVEN, put((1, 2, 2, 2, 1, 1, 1)), put((1, 3, 3, 1, 3, 3, 3)), rows((2, 3), columns=["a", "c"]), options=GROUPS),
    case("a condition over a group matches the ordered row", SEVEN, put((1, 2, 2, 2, 1, 1, 1)), put((1, 3, 3, 1, 3, 3, 3)), rows((1, 2, 2, 2, 3, 3, 3), where="a = 2"), options=GROUPS),
    case("a delete empties the groups whose sequence is not smaller", SEVEN, put((1, 2, 2, 2, 3, 3, 3)), put(("-D", 1, 1, 1, 3, 1, 1, N)), rows((1, N, N, 3, 3, 3, 3)), options=GROUPS),
    case("deletes empty one group after the other", SEVEN, put((1, 2, 2, 2, 3, 3, 3)), put(("-D", 1, 1, 1, 3, 1, 1, N)), put(("-D", 1, 1, 1, 3, 1, 1, 4)), rows((1, N, N, 3, N, N, 4)), put((1, 4, 4, 4, 5, 5, 5)), rows((1, 4, 4, 4, 5, 5, 5)), put(("-D", 1, 1, 1, 6, 1, 1, 6)), rows((1, N, N, 6, N, N, 6)), options=GROUPS),
    case("a delete with a smaller sequence changes nothing", SEVEN, put((1, 2, 2, 5, 3, 3, 5)), put(("-D", 1, 1, 1, 3, 1, 1, 3)), rows((1, 2, 2, 5, 3, 3, 5)), options=GROUPS),
    case("a delete in a group can remove the record", SEVEN, put((1, 2, 2, 2, 3, 3, 3)), put(("-D", 1, 1, 1, 3, 1, 1, 4)), rows(), options={**GROUPS, "partial-update.remove-record-on-sequence-group": "h"}),
    case("a delete in the other group does not remove the record", SEVEN, put((1, 2, 2, 2, 3, 3, 3)), put(("-D", 1, 1, 1, 3, 1, 1, N)), rows((1, N, N, 3, 3, 3, 3)), options={**GROUPS, "partial-update.remove-record-on-sequence-group": "h"}),
    case("removed by its group, a record comes back", SEVEN, put((1, 2, 2, 2, 3, 3, 3)), put(("-D", 1, 1, 1, 3, 1, 1, 4)), put((1, 4, 4, 4, 5, 5, 5)), rows((1, 4, 4, 4, 5, 5, 5)), options={**GROUPS, "partial-update.remove-record-on-sequence-group": "h"}),
    case("DELETE by statement removes where a group removes records", SEVEN, put((2, 2, 2, 2, 1, 1, 1), (3, 1, 1, 1, 1, 1, 1)), do("delete", "k = 2"), rows((3, 1, 1, 1, 1, 1, 1)), options={**GROUPS, "partial-update.remove-record-on-sequence-group": "g"}),
    case("two columns order a group together", NINE, put((1, 1, 1, 1, 1, 1, 1, 1, 3)), put((1, 2, 2, 2, 2, 2, 1, 1, N)), rows((1, 2, 2, 2, 2, 1, 1, 1, 3)), put((1, 1, 3, 1, 3, 3, 3, 3, 2)), rows((1, 2, 2, 2, 2, 3, 3, 3, 2)), options=PAIRS),
    case("a group of two whose columns are both NULL is left alone", NINE, put((1, N, N, N, N, 1, 1, 1, 3)), put((1, 2, 2, N, N, 2, 2, 1, 3)), rows((1, N, N, N, N, 2, 2, 1, 3)), options=PAIRS),
    case("a delete empties a group of two", NINE, put((1, 2, 2, 2, 2, 3, 3, 3, 2)), put(("-D", 1, 1, 1, 3, 3, 1, 1, N, N)), rows((1, N, N, 3, 3, 3, 3, 3, 2)), options=PAIRS),
    case("a delete with a smaller second column changes nothing", NINE, put((1, 1, 1, 3, 3, 3, 3, 3, 2)), put(("-D", 1, 1, 1, 3, 1, 1, 1, 4, 4)), rows((1, 1, 1, 3, 3, N, N, 4, 4)), options=PAIRS),
    case("one column beside two columns, each orders its own group", EIGHT, put((1, 1, 1, 1, 1, 1, 1, 1)), put((1, 2, 2, 2, 2, 2, 1, N)), rows((1, 2, 2, 2, 1, 1, 1, 1)), put((1, 3, 3, 1, 3, 3, 3, 1)), rows((1, 2, 2, 2, 3, 3, 3, 1)), options={**PARTIAL, "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,d"}),
    case("by default the last value that is not NULL can stay", SEVEN, put((1, 1, 1, 1, 3, 3, 3)), put((1, 4, N, 4, 5, N, 5)), rows((1, 4, 1, 4, 5, 3, 5)), options={**GROUPS, **LAST}),
    case("the same of a group of two columns", NINE, put((1, 2, 2, 2, 2, 3, 3, 3, 3)), put((1, 4, N, 4, 4, 5, N, 5, 5)), rows((1, 4, 2, 4, 4, 5, 3, 5, 5)), options={**PAIRS, **LAST}),
    case("columns outside any group are filled", shape("k INT, a INT, g INT, x INT", key="k", bucket="1"), put((1, 1, 5, 1)), put((1, 2, 3, 2)), put((1, 9, 4, N)), rows((1, 1, 5, 2)), options={**PARTIAL, "fields.g.sequence-group": "a"}),
    case("a default sum adds inside a group", shape("k INT, s INT, v INT", key="k", bucket="1"), put((0, 1, 1)), put((0, 2, 2)), rows((0, 2, 3)), options={**PARTIAL, "fields.s.sequence-group": "v", "fields.default-aggregate-function": "sum"}),
)  # fmt: skip

AGG = shape("k INT, a INT, b INT, g INT, c STRING, h INT", key="k", bucket="1")
SUMMED = {**PARTIAL, "fields.a.aggregate-function": "sum", "fields.g.sequence-group": "a", "fields.h.sequence-group": "c"}  # fmt: skip
FUNCTIONS_IN_GROUPS = (
    case("a sum in a group adds late rows too", AGG, *ordered(6, (((1, 1, 1, 1, "1", 1), (1, 1, 1, 1, "1", 1)), ((1, 2, 2, 2, "2", N), (1, 3, 2, 2, "1", 1)), ((1, 3, 3, 1, "3", 3), (1, 6, 3, 2, "3", 3)), ((1, N, N, 2, N, 4), (1, 6, 3, 2, N, 4)))), options=SUMMED),
    case("beside a sum, the default keeps the last value", AGG, put((1, 1, 1, 1, "1", 1)), put((1, N, N, 2, N, 4)), rows((1, 1, 1, 2, "1", 4)), options={**SUMMED, **LAST}),
    case("a projection of a summed column is the sum", AGG, put((1, 1, 1, 1, "1", 1)), put((1, 2, 2, 2, "2", N)), rows((3, "1"), columns=["a", "c"]), options=SUMMED),
    case("first_value in a group is that of the smallest sequence", shape("k INT, a INT, g INT", key="k", bucket="1"), put((1, 1, 1), (1, 2, 2)), rows((1, 1, 2)), put((1, 0, 0)), rows((1, 0, 2)), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "first_value"}),
    case("last_value in a group is that of the largest sequence", shape("k INT, a INT, g INT", key="k", bucket="1"), put((1, 1, 1), (1, 2, 2)), put((1, 0, 0)), rows((1, 2, 2)), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "last_value"}),
    case("first and last of one group", shape("k INT, g INT, a INT, b INT", key="k", bucket="1"), put((1, 1, 1, 1)), put((1, 2, 2, 2)), rows((1, 2, 1, 2)), put((1, 0, 3, 3)), rows((1, 2, 3, 2)), options={**PARTIAL, "fields.g.sequence-group": "a,b", "fields.a.aggregate-function": "first_value", "fields.b.aggregate-function": "last_value"}),
    case("a delete takes back from a sum", shape("k INT, g INT, a INT", key="k", bucket="1"), put((1, 1, 5)), put((1, 2, 3)), put(("-D", 1, 3, 2)), rows((1, 3, 6)), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "sum"}),
    case("a late delete takes back from a sum too", shape("k INT, g INT, a INT", key="k", bucket="1"), put((1, 3, 5)), put(("-D", 1, 1, 2)), rows((1, 3, 3)), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "sum"}),
    case("a column can ignore what is taken back", shape("k INT, g INT, a INT", key="k", bucket="1"), put((1, 1, 5)), put(("-D", 1, 2, 2)), rows((1, 2, 5)), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "max", "fields.a.ignore-retract": "true"}),
    case("max in a group takes late rows too", shape("k INT, g INT, a INT", key="k", bucket="1"), put((1, 3, 5)), put((1, 1, 9)), rows((1, 3, 9)), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "max"}),
    case("listagg in a group puts late rows before", shape("k INT, g INT, a STRING", key="k", bucket="1"), put((1, 2, "b")), put((1, 1, "a")), rows((1, 2, "a,b")), options={**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "listagg"}),
    case("a sum in a group of two columns", shape("k INT, a INT, g INT, h INT", key="k", bucket="1"), put((1, 1, 1, 1)), put((1, 2, 2, 2)), put((1, 3, 2, 1)), rows((1, 6, 2, 2)), options={**PARTIAL, "fields.g,h.sequence-group": "a", "fields.a.aggregate-function": "sum"}),
    case("a full compaction keeps sums", AGG, put((1, 1, 1, 1, "1", 1)), put((1, 2, 2, 2, "2", N)), do("compact"), put((1, 3, 3, 1, "3", 3)), rows((1, 6, 3, 2, "3", 3)), options=SUMMED),
)  # fmt: skip

FIRST_ROW = (
    case("the first row of a key stays", FIRST, put((1, 1, "1"), (1, 2, "2")), rows((1, 1, "1"))),
    case("the first row stays over several writes", FIRST, put((1, 1, "1")), put((1, 2, "2"), (2, 1, "x")), rows((1, 1, "1"), (2, 1, "x"))),
    case("a projection is of the first row", FIRST, put((1, 1, "1")), put((1, 2, "2")), rows(("1",), columns=["c"])),
    case("the first row stays with the lookup producer", FIRST, put((1, 1, "1"), (1, 2, "2")), put((1, 3, "3")), rows((1, 1, "1")), options={"changelog-producer": "lookup"}),
    case("only new keys are in the changelog", FIRST, put((1, 1, "1"), (2, 2, "2"), (1, 3, "3")), put((1, 1, "9"), (3, 3, "3")), changes((1, 1, "1"), (2, 2, "2"), (3, 3, "3"), mode="changelog"), options={"changelog-producer": "lookup"}),
    case("a stream has each key once", FIRST, put((1, 1, "1"), (2, 2, "2")), put((2, 7, "7"), (3, 3, "3")), follows((1, 1, "1"), (2, 2, "2"), (3, 3, "3")), options={"changelog-producer": "lookup"}),
    case("avro files work as well", FIRST, put((1, 1, "1")), put((1, 2, "2")), rows((1, 1, "1")), options={"file.format": "avro", "changelog-producer": "lookup"}),
    case("rows of one key merge before they are written, if told to", shape("a INT, b INT, c STRING", key="a, b", partition="b", bucket="1"), put((1, 1, "1"), (1, 1, "2"), (2, 3, "3")), rows((1, 1, "1"), (2, 3, "3")), options={"merge-engine": "first-row", "local-merge-buffer-size": "5 mb"}),
    case("a delete is refused", FIRST, put((1, 1, "1")), refused(put(("-D", 1, 1, "1")), "ignore-delete")),
    case("an update's old half is refused", FIRST, put((1, 1, "1")), refused(put(("-U", 1, 1, "1")), "ignore-delete")),
    case("deletes and old halves can be ignored", FIRST, put((1, 1, "1"), ("-U", 1, 1, "1"), ("+U", 1, 2, "2")), rows((1, 1, "1")), options={"ignore-delete": "true", "changelog-producer": "lookup"}),
    case("a full compaction keeps the first row", FIRST, put((1, 1, "1")), put((1, 2, "2")), do("compact"), put((1, 3, "3")), rows((1, 1, "1"))),
    case("a stream without a producer is refused", FIRST, put((1, 1, "1")), refused(follows(), "changelog-producer")),
    case("a condition is applied to the first row", FIRST, put((1, 1, "1")), put((1, 2, "2")), rows(where="b = 2")),
)  # fmt: skip

SEQUENCE = shape("k INT, s INT, v STRING", key="k", bucket="1").with_options(
    {"sequence.field": "s"}
)
PAIR = shape("k INT, s INT, t INT, v STRING", key="k", bucket="1").with_options(
    {"sequence.field": "s,t"}
)
SEQUENCE_FIELDS = (
    case("the row with the larger sequence stays", SEQUENCE, put((1, 5, "a")), put((1, 3, "b")), rows((1, 5, "a"))),
    case("of equal sequences the later write stays", SEQUENCE, put((1, 5, "a")), put((1, 5, "b")), rows((1, 5, "b"))),
    case("NULL is the smallest sequence", SEQUENCE, put((1, 1, "a")), put((1, N, "b")), rows((1, 1, "a"))),
    case("any sequence is larger than NULL", SEQUENCE, put((1, N, "a")), put((1, -5, "b")), rows((1, -5, "b"))),
    case("a late delete does not delete", SEQUENCE, put((1, 5, "a")), put(("-D", 1, 3, "a")), rows((1, 5, "a"))),
    case("a delete with a larger sequence deletes", SEQUENCE, put((1, 5, "a")), put(("-D", 1, 7, "a")), rows()),
    case("after a delete, a smaller sequence stays deleted", SEQUENCE, put((1, 5, "a")), put(("-D", 1, 7, "a")), put((1, 6, "b")), rows()),
    case("a second column breaks a tie", PAIR, put((1, 5, 2, "a")), put((1, 5, 1, "b")), rows((1, 5, 2, "a"))),
    case("the first column counts before the second", PAIR, put((1, 5, 2, "a")), put((1, 6, 1, "b")), rows((1, 6, 1, "b"))),
    case("the smallest sequence can win", SEQUENCE, put((1, 5, "a")), put((1, 3, "b")), put((1, 4, "c")), rows((1, 3, "b")), options={"sequence.field.sort-order": "descending"}),
    case("NULL loses in descending order too", SEQUENCE, put((1, 5, "a")), put((1, N, "b")), rows((1, 5, "a")), options={"sequence.field.sort-order": "descending"}),
    case("a compaction keeps the order", SEQUENCE, put((1, 5, "a")), put((1, 3, "b")), do("compact"), put((1, 4, "c")), rows((1, 5, "a"))),
    case("rows of one write are ordered too", SEQUENCE, put((1, 5, "a"), (1, 3, "b")), rows((1, 5, "a"))),
    case("a TIMESTAMP orders rows", shape("k INT, s BIGINT, v STRING", key="k", bucket="1"), put((1, 2**40, "a")), put((1, 2**39, "b")), rows((1, 2**40, "a")), options={"sequence.field": "s"}),
    case("a text orders rows as bytes", shape("k INT, s STRING, v INT", key="k", bucket="1"), put((1, "b", 1)), put((1, "a", 2)), put((1, "B", 3)), rows((1, "b", 1)), options={"sequence.field": "s"}),
    case("a projection without the sequence is ordered by it", SEQUENCE, put((1, 5, "a")), put((1, 3, "b")), rows(("a",), columns=["v"])),
    case("a sequence orders what aggregation calls last", shape("k INT, s INT, v INT", key="k", bucket="1"), put((1, 5, 1)), put((1, 3, 2)), rows((1, 5, 1)), options={"sequence.field": "s", "merge-engine": "aggregation", "fields.v.aggregate-function": "last_value"}),
    case("a sequence orders what aggregation calls first", shape("k INT, s INT, v INT", key="k", bucket="1"), put((1, 5, 1)), put((1, 3, 2)), rows((1, 5, 2)), options={"sequence.field": "s", "merge-engine": "aggregation", "fields.v.aggregate-function": "first_value"}),
    case("ordering by snapshots is known by name", shape("k INT, v INT", key="k", bucket="1"), put((1, 1)), put((1, 2)), rows((1, 2)), options={"sequence.snapshot-ordering": "true", "write-only": "true"}, missing="sequence.snapshot-ordering"),
)  # fmt: skip


def _writes() -> Iterator[Case]:
    """Write-only writers and compacting ones give the same rows, by engine."""
    for engine, expected in (
        ("deduplicate", (1, 2, "b")),
        ("partial-update", (1, 2, "b")),
        ("first-row", (1, 1, "a")),
        ("aggregation", (1, 2, "b")),
    ):
        table = shape("k INT, v INT, s STRING", key="k", bucket="1").with_options(
            {"merge-engine": engine}
        )
        yield case(f"with write-only, a writer leaves the merge to the reader ({engine})", table, put((1, 1, "a")), put((1, 2, "b")), snapshots("APPEND APPEND"), rows(*((expected,) if engine != "first-row" else ())), options={"write-only": "true"})  # fmt: skip
        yield case(f"a dedicated compaction gives the same rows ({engine})", table, put((1, 1, "a")), put((1, 2, "b")), do("compact", options={"write-only": "false"}), snapshots("APPEND APPEND COMPACT"), rows(expected), options={"write-only": "true"})  # fmt: skip


CASES = (
    *area("Deduplicate", DEDUPLICATE),
    *area("Partial update", PARTIAL_UPDATE, FUNCTIONS_IN_GROUPS),
    *area("Sequence groups", SEQUENCE_GROUPS),
    *area("First row", FIRST_ROW),
    *area("Sequence fields", SEQUENCE_FIELDS),
    *area("Write-only and compaction by engine", _writes()),
)
