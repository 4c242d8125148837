"""Twenty and more values that each parameter of an operator, a sensor or a trigger must not have.

Written by hand and by the parameter's meaning, not by the checks that are to refuse them.
"""

from __future__ import annotations

import datetime as dt
from pathlib import PurePosixPath
from typing import Any, Final

__all__ = ["WRONG", "wrong_values"]

_HUGE: Final = 10**400
_NAN: Final = float("nan")
_INF: Final = float("inf")
_ZONELESS: Final = dt.datetime(2026, 1, 1)
_NO_TEXT: Final = (
    *(0, 1, -1, 1.5, _NAN, True, False, object(), object, b"x", [], ["x"], {}, {"a": 1}, {"x"}, ()),
    *(dt.date(2026, 1, 1), dt.timedelta(1), PurePosixPath("/x"), len, _HUGE),
)
_NO_NUMBER: Final = (
    *(
        "",
        " ",
        "many",
        "1.5",
        "1e3",
        "0x10",
        "-1",
        "-5",
        "١٢x",
        "10 s",
        "1\r\n",
        "/",
        "None",
        "nan",
    ),
    *(
        -1,
        -(2**31),
        1.5,
        _NAN,
        _INF,
        _HUGE,
        2**63,
        True,
        False,
        object(),
        b"1",
        [1],
        {},
        {"a": 1},
        {1},
    ),
    *(dt.timedelta(1), dt.date(2026, 1, 1), len),
)
_NO_MAPPING: Final = (
    *(
        "",
        " ",
        "a",
        "a=1",
        "{",
        "[]",
        "null",
        "a\rb",
        "/tmp",
        0,
        1,
        -1,
        1.5,
        _NAN,
        True,
        False,
        b"x",
    ),
    *([], ["a"], [["a", 1]], [{"a": "1"}], {"a"}, (), ("a",), object(), len, dt.date(2026, 1, 1)),
    *({1: "x"}, {None: "x"}, {"": "x"}),
)
_NO_LIST: Final = (
    *(
        "",
        " ",
        "a",
        "a,b",
        "[a]",
        "a\rb",
        "/tmp",
        0,
        1,
        -1,
        1.5,
        _NAN,
        True,
        False,
        b"x",
        {"a": 1},
        len,
    ),
    *(
        {},
        {"a"},
        object(),
        [""],
        [" "],
        [None],
        [1],
        [["a"]],
        [b"a"],
        ["a\nb"],
        ["a\rb"],
        ["a", "a"],
    ),
)
_NO_NAME: Final = (*("", " ", "\t", "a\nb", "a\r", "\r\n", "a\x00b", "a\x1b[31m", *_NO_TEXT),)
_NO_PATH_NAME: Final = (
    *_NO_NAME,
    "/",
    "a/b",
    "../x",
    "..",
    ".",
    "\\",
    "a\\b",
    "/etc/passwd",
    "x" * 5000,
)
_NO_WORD: Final = (
    *("", " ", "x", "ANYTHING", "full,minor", "a\rb", "/", "None", "null", "true", "1"),
    *_NO_TEXT,
)
_NO_FLAG: Final = (
    *(
        "",
        " ",
        "yes",
        "no",
        "true",
        "True",
        "False",
        "on",
        "1",
        "a\rb",
        "/",
        0,
        1,
        -1,
        1.5,
        _NAN,
        b"x",
    ),
    *([], [True], {}, {"a": True}, object(), len, ()),
)
_NO_DURATION: Final = (
    *("", " ", "soon", "2 fortnights", "h", "-1 h", "1.5.5 h", "1 h 30", "one hour", "1\r\nh", "/"),
    *("2026-01-01", "PT1H", "1h;", "9" * 400 + " d", "nan h", "inf s", "0x10 s"),
    *(-1, 1.5, _NAN, _INF, True, False, object(), b"1 h", [], ["1 h"], {}, {"h": 1}, ()),
)
_NO_MOMENT: Final = (
    *(
        " ",
        "yesterday",
        "20th",
        "2026-13-01T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-01T00:00:00",
    ),
    *(
        "01/02/2026",
        "2026-01-01T25:00:00Z",
        "now",
        "-1",
        "1.5",
        "9" * 40,
        "2026-01-01T00:00:00Z\r",
        "/",
    ),
    *(-1, _HUGE, 1.5, _NAN, True, False, object(), b"2026", [], ["2026"], {}, {"at": 1}, _ZONELESS),
    *(dt.date(2026, 1, 1), dt.timedelta(1)),
)
_NO_SNAPSHOT: Final = (
    *(
        " ",
        "latest",
        "first",
        "one",
        "1.5",
        "1e3",
        "-1",
        "-5",
        "0x1",
        "1\r\n2",
        "/",
        "9" * 40,
        "v1",
        "#1",
    ),
    *(
        -1,
        -(2**63),
        _HUGE,
        2**63,
        1.5,
        1.0,
        _NAN,
        _INF,
        True,
        False,
        object(),
        b"1",
        [],
        [1],
        {},
        {1},
    ),
)
_NO_TABLE: Final = (
    *(
        "",
        " ",
        "orders",
        ".",
        "..",
        "a.",
        ".b",
        "a..b",
        " . ",
        "/",
        "a/b",
        "a\\b.c",
        "../a.b",
        "/a.b",
    ),
    *("a\nb.c", "a.b\r", "a.b\x00", "file:///x/a.b", *_NO_TEXT, None),
)
_NO_PATTERN: Final = (
    *(
        "[",
        "(",
        "*",
        "+",
        "?",
        "a(",
        "a)",
        "[a",
        "(?P<",
        "(?P<1>a)",
        "a{2,1}",
        "\\",
        "(?<x",
        "(?z)",
    ),
    *(0, 1, 1.5, _NAN, True, False, None, b"x", [], ["x"], {}, object(), len, ()),
)
_NO_PARTITIONS: Final = (
    *_NO_LIST,
    ["a"],
    [{}],
    [{1: "x"}],
    [{"": "x"}],
    [{"dt": ["1"]}],
    [{"dt": {}}],
)
_NO_PARTITION: Final = (
    *_NO_MAPPING,
    {},
    {"dt": ["1"]},
    {"dt": {}},
    {"dt": b"1"},
    {"nope": "1"},
    None,
)
_NO_SQL: Final = ("", " ", "\n", "\r\n", "a\x00b", *_NO_TEXT)
_NO_SECONDS: Final = (
    *(
        "",
        " ",
        "1",
        "1 s",
        "soon",
        "a\rb",
        "/",
        0,
        0.0,
        -1,
        -0.5,
        _NAN,
        _INF,
        -_INF,
        True,
        False,
        b"1",
    ),
    *(None, object(), [], [1], {}, (), dt.timedelta(1), dt.date(2026, 1, 1), _HUGE),
)
_NO_SETTINGS: Final = (
    *_NO_MAPPING,
    *({"spark.x": 1}, {"spark.x": None}, {"spark x": "1"}, {"spark.x": "a\nb"}, {"spark.x\r": "1"}),
    *({"spark.x": ["1"]}, {"spark.x": {}}),
)
_NO_COLUMNS: Final = (
    *_NO_MAPPING,
    *({}, {"a": "INTT"}, {"a": ""}, {"a": None}, {"a": 1}, {"a": "DECIMAL(99, 1)"}, {"a": "ROW<"}),
    *(
        {"a": ["INT"]},
        {"a": "INT NOT"},
        {"_KEY_a": "INT"},
        {"a": "INT", "": "INT"},
        {"a": "/"},
        None,
    ),
)
_NO_OPTIONS: Final = (
    *_NO_MAPPING,
    *({"bucket": "many"}, {"bucket": "-7"}, {"bucket": None}, {"bucket": ["1"]}, {"bucket": {}}),
    *({"merge-engine": "dedupe"}, {"file.format": "csv"}, {"snapshot.time-retained": "-1 h"}),
    *({"target-file-size": "12 parsecs"}, {"changelog-producer": "full"}, {"bucket": object()}),
)
_NO_PARAMETERS: Final = (
    *(v for v in _NO_MAPPING if v != {1: "x"}),
    *({"a": object()}, {"a": len}, {"a b": 1}, {"a": {1}}, {"a;": 1}, {"1a": 1}),
)
_NO_RULES: Final = (
    *_NO_MAPPING,
    *({}, {"not_nul": ["n"]}, {"not_null": []}, {"not_null": "n"}, {"unique": []}, {"range": {}}),
    *({"range": {"n": 1}}, {"range": {"n": [1]}}, {"rows": 5}, {"rows": [1]}, {"rows": ["a", "b"]}),
    *({"freshness": "soon"}, {"at_most": 5}, {"where": "n > 0"}, {"not_null": ["nope"]}, None),
    *({"change": [0, 1]}, {"sql": ""}, {"sql": 5}, {"not_null": [1]}, {"rows": [None, _NAN]}),
)
_NO_CHANGES: Final = (
    *_NO_LIST,
    *(
        [],
        [{}],
        [{"change": "AddColum"}],
        [{"change": "AddColumn"}],
        [{"name": "x", "type": "INT"}],
    ),
    *(
        [{"change": "AddColumn", "name": "x", "type": "INTT"}],
        [{"change": "DropColumn", "name": "nope"}],
    ),
    *([{"change": "SetOption", "key": "bucket", "value": "many"}], [{"change": 5}], [{1: 2}], None),
    *([{"change": "DropColumn", "name": "n", "more": 1}], [{"change": "__all__"}]),
)
_NO_WHEN: Final = (
    *_NO_LIST,
    *(
        [],
        [{}],
        [{"action": "matched-upsrt"}],
        [{"action": None}],
        [{"action": 5}],
        [{"values": {}}],
        None,
    ),
    *([{"action": "matched-delete", "more": 1}], [{"action": "not-matched-insert", "values": "n"}]),
    *(
        [{"action": "matched-delete", "condition": 5}],
        [{"action": "matched-delete", "condition": ""}],
    ),
    *([{"action": "matched-upsert", "values": {"nope": "1"}}], [{"action": "matched-upsert"}, {}]),
    *([{"action": "matched-upsert", "values": {"n": 5.5j}}],),
)
_NO_VALUES: Final = (
    *_NO_MAPPING,
    *(
        {},
        {"nope": "1"},
        {"n": ""},
        {"n": None},
        {"n": []},
        {"n": {}},
        {"n": "1 +"},
        {"n": object()},
        None,
    ),
)
_NO_SOURCES: Final = (
    *_NO_MAPPING,
    *(
        {"v": "d.t"},
        {"v": None},
        {"v": {}},
        {"v": {"table": ""}},
        {"v": {"table": "t"}},
        {"v": {"tabel": "d.t"}},
    ),
    *(
        {"v": {"table": 5}},
        {"v": {"table": "d.t", "mode": "chnges"}},
        {"v": {"table": "d.t", "more": 1}},
    ),
    *(
        {"v": {"table": "d.t", "position": "flow"}},
        {"v": {"table": "d.t", "position": 5}},
        {"v": {"mode": "changes"}},
    ),
    *({"a b": {"table": "d.t"}}, {"v": {"table": "d.t", "mode": None}}, {"v": {"table": "../d.t"}}),
)
_NO_PENDING: Final = (
    *_NO_MAPPING,
    *(
        {},
        {"table": "d.p"},
        {"sql": "SELECT 1"},
        {"table": "p", "sql": "SELECT 1"},
        {"table": "", "sql": "x"},
    ),
    *({"table": "d.p", "sql": ""}, {"table": "d.p", "sql": 5}, {"table": 5, "sql": "SELECT 1"}),
    *(
        {"table": "d.p", "sql": "SELECT 1", "more": "x"},
        {"table": "d.p", "sql": "SELECT 1", "view": ""},
    ),
    *(
        {"table": "d.p", "sql": "SELECT 1", "view": 5},
        {"table": "d.p", "sql": "SELECT 1", "view": "a b"},
    ),
)
_NO_OVERWRITE: Final = (
    *("", " ", "partition", "tables", "all", "none", "None", "true", "a\rb", "/", "dt=1", "TABLE "),
    *(0, 1, -1, 1.5, _NAN, True, False, b"table", [], ["table"], [{"dt": "1"}], {}, {"dt": ["1"]}),
    *({1: "x"}, {"": "1"}, {"nope": "1"}, object(), len, ()),
)
_NO_MERGE_SOURCE: Final = (
    *_NO_MAPPING,
    *(
        {},
        {"table": ""},
        {"table": "s"},
        {"table": 5},
        {"tabel": "d.s"},
        {"sql": ""},
        {"sql": 5},
        None,
    ),
    *(
        {"table": "d.s", "sql": "SELECT 1"},
        {"table": "d.s", "more": 1},
        {"sql": "SELECT 1", "sources": "d.s"},
    ),
    *({"sql": "SELECT * FROM s", "sources": {"s": {"tabel": "d.s"}}}, {"path": ""}, {"path": 5}),
    *(
        {"sql": "SELECT * FROM s", "sources": {"s": {"table": "d.s", **more}}}
        for more in ({"mode": "changes"}, {"position": "tc.x"})
    ),
)
_NO_SYNC_SOURCE: Final = (
    *_NO_MAPPING,
    *(
        {},
        {"kind": "file"},
        {"kind": "oracle"},
        {"kind": None},
        {"kind": 5},
        {"kind": "files"},
        None,
    ),
    *(
        {"kind": "files", "uri": ""},
        {"kind": "files", "uri": 5},
        {"kind": "files", "uri": "x", "more": 1},
    ),
    *({"kind": "files", "uri": "file:///x", "format": "debezum"}, {"uri": "x", "kind": ["files"]}),
)
_NO_SYNC_SETTINGS: Final = (
    *_NO_MAPPING,
    *(
        {"max_row": 1},
        {"max_rows": -1},
        {"max_rows": "many"},
        {"max_rows": 1.5},
        {"on_truncate": "fial"},
    ),
    *(
        {"dead_letter": 5},
        {"dead_letter": ""},
        {"max_rows": True},
        {"max_rows": []},
        {"source": {}},
    ),
)
_NO_POLICY: Final = (
    *_NO_MAPPING,
    *(
        {"compct": {}},
        {"compact": "minor"},
        {"compact": []},
        {"compact": 5},
        {"thresholds": 5},
        None,
    ),
    *(
        {"compact": {"strategy": "ful"}},
        {"compact": {"strategi": "full"}},
        {"thresholds": {"runs": 1}},
    ),
    *(
        {"expire-snapshots": {"retain_max": -1}},
        {"expire_snapshots": {}},
        {"thresholds": {"sorted_runs_due": "x"}},
    ),
)
_NO_AUTO_LIMITS: Final = (
    *_NO_MAPPING,
    *({"lines": 1}, {"row": 5}, {"byte": "1 mb"}, {"Rows": 5}, {"": 5}, {5: 5}, {None: 5}),
    *({"rows": None}, {"rows": "many"}, {"rows": -1}, {"rows": 1.5}, {"rows": _NAN}, {"rows": []}),
    *({"rows": "1 mb"}, {"rows": True}, {"rows": ""}, {"rows": {}}),
    *({"bytes": None}, {"bytes": "1 parsec"}, {"bytes": -1}, {"bytes": ""}, {"bytes": []}),
    *({"bytes": 1.5}, {"bytes": "mb"}, {"bytes": True}, {"rows": 1, "bytes": "x"}),
)
_NO_THRESHOLDS: Final = (
    *_NO_MAPPING,
    *(
        {"runs": 1},
        {"sorted_runs_due": "five"},
        {"sorted_runs_due": None},
        {"sorted_runs_due": _NAN},
    ),
    *(
        {"sorted_runs_due": []},
        {"sorted_runs_due": -1},
        {"sorted_runs_due": True},
        {"sorted_runs_due": "5"},
    ),
)
_NO_FOLLOW: Final = (
    *_NO_MAPPING,
    *(
        {"compct": "x"},
        {"compact": ""},
        {"compact": None},
        {"compact": 5},
        {"compact": []},
        {"compact": [""]},
    ),
    *({"compact": [5]}, {"expire_snapshots": "x"}, {"compact": {"x": "y"}}),
)
_NO_OUTLETS: Final = (
    *(
        "",
        "x",
        "paimon://a/b/c",
        " ",
        "a\rb",
        "/",
        0,
        1,
        -1,
        1.5,
        True,
        False,
        b"x",
        {},
        {"a": 1},
        object(),
    ),
    *(["x"], [1], [None], [{}], [[]], len, [len], {"x"}),
)
_NO_POLICY_OF_RETRIES: Final = (
    *(
        "",
        "never",
        " ",
        "3",
        0,
        1,
        -1,
        1.5,
        _NAN,
        True,
        False,
        b"x",
        [],
        {},
        {"retries": 3},
        object(),
        len,
    ),
    *((), dt.timedelta(1), object, "a\rb"),
)
_NO_URI: Final = ("", " ", "a\nb", "a\r", "\x00", *_NO_TEXT, None)
_NO_POSITION: Final = (
    *(
        "",
        " ",
        "flow",
        "tc",
        "tc.",
        "tc",
        "TC.flow",
        "tc.a\nb",
        "tc.a\r",
        "x.tc.a",
        "/",
        "tc.commits",
    ),
    *_NO_TEXT,
)
_NO_PREFIX: Final = ("/", "a/b", "../", "a\nb", "a\r", "\\", " ", *_NO_TEXT, None)
_NO_COMMENT: Final = ("a\x00b", *_NO_TEXT)
_NO_COMPUTED: Final = (
    *_NO_LIST,
    ["dt"],
    ["=x"],
    ["dt="],
    ["dt=nope(a)"],
    ["dt=date_format("],
    ["a=b(c)=d("],
)
_NO_MAPPING_OF_TYPES: Final = (
    *_NO_LIST,
    ["tinyint"],
    ["tinyint1_not_bool"],
    ["to-strng"],
    ["TINYINT1"],
)
_NO_UNTIL: Final = (
    *("", " ", "yesterday", "2026-01-01", "now ", "-1", "a\rb", "/", *_NO_TEXT, None),
)
_NO_STATE: Final = ("", " ", "nope", "0", "-1", "latest", "a\nb", "a\r", "/", "x" * 5000, *_NO_TEXT)

WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "table": _NO_TABLE,
    "database": (*_NO_PATH_NAME, None),
    "paimon_conn_id": (*_NO_NAME, None),
    "catalog": _NO_NAME,
    "engine": (*_NO_WORD, "sparc", "Local", "embedded", "SPARK"),
    "auto_limits": _NO_AUTO_LIMITS,
    "place": (*_NO_MAPPING, {"snapshot_id": "x", "time_millis": 1}, {"snapshot_id": 1}),
    "spark_conf": _NO_SETTINGS,
    "events": (*_NO_WORD, "change", "All", None),
    "deferrable": (*_NO_FLAG, None),
    "outlets": _NO_OUTLETS,
    "retry_policy": _NO_POLICY_OF_RETRIES,
    "columns": _NO_LIST,
    "PaimonCreateTableOperator.columns": _NO_COLUMNS,
    "dry_run": (*_NO_FLAG, None),
    "to": _NO_TABLE,
    "kept": (*_NO_DURATION, None),
    "recheck": (*_NO_DURATION, None),
    "tables": (*_NO_NUMBER, 0, None),
    "snapshots": (*_NO_NUMBER, 0, None),
    "detailed": (*_NO_NUMBER, None),
    "branch": (*_NO_PATH_NAME, "main", "7", None),
    "tag": (*_NO_PATH_NAME,),
    "PaimonCreateTagOperator.tag": (*_NO_PATH_NAME, None),
    "PaimonDeleteTagOperator.tag": (*_NO_PATH_NAME, None),
    "PaimonTagSensor.tag": (*_NO_PATH_NAME, None),
    "from_head": (*_NO_FLAG, None),
    "if_not_exists": (*_NO_FLAG, None),
    "if_exists": (*_NO_FLAG, None),
    "replace": (*_NO_FLAG, None),
    "force": (*_NO_FLAG, None),
    "state": _NO_STATE,
    "rules": _NO_RULES,
    "parameters": _NO_PARAMETERS,
    "against": tuple(v for v in _NO_TABLE if v is not None),
    "fail": (*_NO_FLAG, None),
    "fail_on": (*_NO_WORD, "errors", None),
    "source": _NO_SYNC_SOURCE,
    "PaimonCloneOperator.source": _NO_TABLE,
    "PaimonResyncOperator.tables": (*_NO_LIST, (), [], None),
    "PaimonResyncOperator.source": (*_NO_SYNC_SOURCE, {"kind": "kafka"}),
    "PaimonSourceAuditOperator.repair": (*_NO_FLAG, None),
    "PaimonSourceAuditOperator.tables": (*_NO_LIST, (), [], None),
    "PaimonSourceAuditOperator.source": (*_NO_SYNC_SOURCE, {"kind": "kafka"}),
    "PaimonSourceDoctorOperator.source": (*_NO_SYNC_SOURCE, {"kind": "kafka"}),
    "PaimonSourceReplayOperator.source": (*_NO_SYNC_SOURCE, {"kind": "mysql"}),
    "PaimonSourceReplayOperator.overwrite": (*_NO_FLAG, None),
    "dead_letter": _NO_TABLE,
    "synced_table": _NO_PATH_NAME,
    "PaimonMergeIntoOperator.source": _NO_MERGE_SOURCE,
    "PaimonPositionOperator.source": tuple(v for v in _NO_TABLE if v is not None),
    "snapshot": _NO_SNAPSHOT,
    "timestamp": _NO_MOMENT,
    "positions": (*_NO_FLAG, None),
    "strategy": (*_NO_WORD, "ful", "Minor", None),
    "partitions": _NO_PARTITIONS,
    "PaimonDropPartitionOperator.partitions": (*_NO_PARTITIONS, None),
    "PaimonMarkPartitionDoneOperator.partitions": (*_NO_PARTITIONS, None),
    "where": (*_NO_SQL, "nope = 1", "dt ="),
    "PaimonDeleteOperator.where": (*_NO_SQL, "nope = 1", "dt =", None),
    "PaimonUpdateOperator.where": (*_NO_SQL, "nope = 1", "dt =", None),
    "order_by": (*_NO_LIST, [], ["nope"]),
    "buckets": (*_NO_NUMBER, 0, "0"),
    "including": _NO_PATTERN,
    "excluding": _NO_PATTERN,
    "idle_time": _NO_DURATION,
    "parallelism": (*_NO_NUMBER, 0, None),
    "file": (*(v for v in _NO_NAME if not isinstance(v, PurePosixPath)), None),
    "drift": (*_NO_WORD, "aply", None),
    "policy": _NO_POLICY,
    "older_than": _NO_MOMENT,
    "retain_max": (*_NO_NUMBER, 0),
    "retain_min": (*_NO_NUMBER, 0),
    "max_deletes": (*_NO_NUMBER, 0),
    "expiration_time": _NO_DURATION,
    "allow_young": (*_NO_FLAG, None),
    "apply": (*_NO_FLAG, None),
    "follow": _NO_FOLLOW,
    "otherwise": _NO_NAME,
    "level": (*_NO_WORD, "du", None),
    "thresholds": _NO_THRESHOLDS,
    "announce_partitions": (*_NO_FLAG, None),
    "position": (*_NO_POSITION, None),
    "reader": _NO_NAME,
    "ready": (*_NO_WORD, "chnged", None),
    "missing": (*_NO_WORD, "wiat", None),
    "label_column": (*_NO_NAME, None),
    "value_column": (*_NO_NAME, None),
    "values": _NO_VALUES,
    "source_conn_id": _NO_NAME,
    "until": _NO_UNTIL,
    "settings": _NO_SYNC_SETTINGS,
    "primary_key": (*_NO_LIST, None),
    "partition_by": (*_NO_LIST, None),
    "computed_columns": (*_NO_COMPUTED, None),
    "type_mapping": (*_NO_MAPPING_OF_TYPES, None),
    "table_prefix": _NO_PREFIX,
    "merge_shards": (*_NO_FLAG, None),
    "options": _NO_OPTIONS,
    "comment": _NO_COMMENT,
    "changes": _NO_CHANGES,
    "allow": (*_NO_LIST, ["wide"], ["narrow", "wide"], None),
    "time_retained": _NO_DURATION,
    "sql": (*_NO_SQL, None),
    "sources": _NO_SOURCES,
    "pending": _NO_PENDING,
    "rows_uri": _NO_URI[:-1],
    "rows_position": _NO_POSITION,
    "rows_format": (*_NO_WORD, "orc"),
    "rows_options": (
        *_NO_MAPPING,
        *({"delimeter": ";"}, {"delimiter": ";;"}, {"decimal": "x"}, {"encoding": "utf8-of-mine"}),
        *({"header": "no"}, {"skip_lines": -1}, {"null_values": "NA"}, {"timezone": "Berlin"}),
        *({"date_format": "yyyy-MM-dd"}, {"date_format": "%d.%m"}, {"timestamp_format": "%Q"}),
        *({"delimiter": ";", "quote": ";"}, {"decimal": ",", "thousands": ","}),
    ),
    "flow_name": _NO_NAME,
    "overwrite": _NO_OVERWRITE,
    "on": (*_NO_LIST, [], ["nope"], None),
    "PaimonFreshnessSensor.on": (*_NO_WORD, "chnges", None),
    "PaimonSnapshotSensor.on": (*_NO_WORD, "chnges", None),
    "PaimonSnapshotTrigger.on": (*_NO_WORD, "chnges", None),
    "PaimonSnapshotWaitTrigger.on": (*_NO_WORD, "chnges", None),
    "PaimonFreshnessTrigger.on": (*_NO_WORD, "chnges", None),
    "when": _NO_WHEN,
    "start_from_trigger": (*_NO_FLAG, None),
    "within": (
        *(v for v in _NO_DURATION if v != 1.5),
        *(dt.timedelta(-1), dt.timedelta(0), "0 h", None),
    ),
    "partition": _NO_PARTITION,
    "done": (*_NO_FLAG, None),
    "min_rows": (*_NO_NUMBER, None),
    "after": _NO_SNAPSHOT,
    "at": (*_NO_MOMENT, "", "None", None),
    "asset_uri": _NO_URI,
    "start": (*_NO_WORD, "latst", None),
    "PaimonSnapshotTrigger.events": (*_NO_WORD, "pol", "changes", None),
    "PaimonSnapshotTrigger.partitions": (*_NO_PARTITIONS, None),
    "poll_seconds": _NO_SECONDS,
    "submission": (
        *_NO_MAPPING,
        {},
        {"id": "x"},
        {"folder": "x"},
        {"id": "", "folder": "x"},
        {"id": 1, "folder": "x"},
        None,
    ),
}
"""By the parameter; ``Class.parameter`` where it means something else there."""


def wrong_values(cls: type, parameter: str) -> tuple[Any, ...] | None:
    """What ``cls`` must refuse as its ``parameter``; None if nobody has written it down."""
    return WRONG.get(f"{cls.__name__}.{parameter}", WRONG.get(parameter))
