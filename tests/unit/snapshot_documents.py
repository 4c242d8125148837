"""A snapshot as Apache Paimon writes it."""

from __future__ import annotations

JAVA = {  # trimmed from a file written by Java Paimon
    "version": 3,
    "id": 4,
    "schemaId": 0,
    "baseManifestList": "manifest-list-b",
    "deltaManifestList": "manifest-list-d",
    "commitUser": "u",
    "commitIdentifier": 9223372036854775807,
    "commitKind": "COMPACT",
    "timeMillis": 1700000000000,
    "totalRecordCount": 10,
    "deltaRecordCount": -2,
    "nextRowId": 17,
}
