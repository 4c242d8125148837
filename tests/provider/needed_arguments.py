"""What each operator needs at least."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from paimon_provider.operators.analyze import PaimonAnalyzeOperator
from paimon_provider.operators.branches import (
    PaimonCreateBranchOperator,
    PaimonDeleteBranchOperator,
    PaimonFastForwardOperator,
)
from paimon_provider.operators.check import PaimonCheckOperator
from paimon_provider.operators.clone import PaimonCloneOperator
from paimon_provider.operators.collect import PaimonCollectMetadataOperator
from paimon_provider.operators.compact import (
    PaimonCompactDatabaseOperator,
    PaimonCompactOperator,
    PaimonRescaleOperator,
    PaimonRewriteManifestsOperator,
)
from paimon_provider.operators.declared import PaimonUpkeepOperator
from paimon_provider.operators.expire import (
    PaimonExpireChangelogsOperator,
    PaimonExpirePartitionsOperator,
    PaimonExpireSnapshotsOperator,
    PaimonExpireTagsOperator,
    PaimonRemoveOrphanFilesOperator,
)
from paimon_provider.operators.health import PaimonHealthOperator
from paimon_provider.operators.partitions import (
    PaimonDropPartitionOperator,
    PaimonMarkPartitionDoneOperator,
)
from paimon_provider.operators.pipeline import PaimonPipelineOperator
from paimon_provider.operators.position import PaimonPositionOperator
from paimon_provider.operators.recover import PaimonRecoverOperator
from paimon_provider.operators.report import PaimonChangeReportOperator
from paimon_provider.operators.rollback import PaimonRollbackOperator
from paimon_provider.operators.statements import PaimonDeleteOperator, PaimonUpdateOperator
from paimon_provider.operators.sync import (
    PaimonResyncOperator,
    PaimonSourceAuditOperator,
    PaimonSourceDoctorOperator,
    PaimonSourceReplayOperator,
    PaimonSyncDatabaseOperator,
    PaimonSyncTableOperator,
)
from paimon_provider.operators.table import PaimonAlterTableOperator, PaimonCreateTableOperator
from paimon_provider.operators.tags import PaimonCreateTagOperator, PaimonDeleteTagOperator
from paimon_provider.operators.write import PaimonMergeIntoOperator, PaimonWriteOperator
from paimon_provider.sensors.freshness import PaimonFreshnessSensor
from paimon_provider.sensors.partition import PaimonPartitionSensor
from paimon_provider.sensors.snapshot import PaimonSnapshotSensor
from paimon_provider.sensors.tag import PaimonTagSensor
from paimon_provider.sensors.watermark import PaimonWatermarkSensor

NEEDED: dict[type[BaseOperator], dict[str, Any]] = {
    PaimonAnalyzeOperator: {"columns": ["x"]},
    PaimonCreateBranchOperator: {"branch": "b", "tag": "t"},
    PaimonCreateTagOperator: {"tag": "t", "time_retained": "1 d"},
    PaimonDeleteBranchOperator: {"branch": "b"},
    PaimonDeleteOperator: {"where": "id = 1"},
    PaimonDeleteTagOperator: {"tag": "t"},
    PaimonDropPartitionOperator: {"partitions": [{"dt": "1"}]},
    PaimonFastForwardOperator: {"branch": "b"},
    PaimonFreshnessSensor: {"within": "1 h"},
    PaimonHealthOperator: {"thresholds": {"small_files_due": 2}},
    PaimonMarkPartitionDoneOperator: {"partitions": [{"dt": "1"}]},
    PaimonPartitionSensor: {"partition": {"dt": "1"}},
    PaimonCheckOperator: {"rules": {"not_null": ["x"]}},
    PaimonCloneOperator: {"source": "a.c"},
    PaimonCollectMetadataOperator: {"database": "a"},
    PaimonCompactDatabaseOperator: {"database": "a", "including": "o.*"},
    PaimonRecoverOperator: {},
    PaimonRescaleOperator: {"buckets": 2},
    PaimonRewriteManifestsOperator: {},
    PaimonRollbackOperator: {"tag": "t"},
    PaimonPipelineOperator: {
        "database": "a",
        "pipeline_name": "p",
        "hops": [{"name": "f", "action": "write", "target": "a.b", "args": {"sql": "SELECT 1"}}],
    },
    PaimonPositionOperator: {"position": "tc.flow.t", "snapshot": 3},
    PaimonResyncOperator: {"database": "a", "source": {"kind": "mysql"}, "tables": ["b"]},
    PaimonSourceAuditOperator: {"database": "a", "source": {"kind": "mysql"}, "tables": ["b"]},
    PaimonSourceDoctorOperator: {"database": "a", "source": {"kind": "mysql"}},
    PaimonSourceReplayOperator: {
        "database": "a",
        "source": {"kind": "files", "uri": "x"},
        "dead_letter": "a.dead",
    },
    PaimonSyncDatabaseOperator: {"database": "a", "source": {"kind": "files", "uri": "x"}},
    PaimonUpkeepOperator: {"policy": {"compact": {}}},
    PaimonTagSensor: {"tag": "t"},
    PaimonUpdateOperator: {"values": {"n": "n + 1"}, "where": "id = 1"},
    PaimonWatermarkSensor: {"at": "2026-01-01T00:00:00Z"},
    PaimonAlterTableOperator: {"changes": [{"change": "DropColumn", "name": "x"}]},
    PaimonChangeReportOperator: {"label_column": "k", "value_column": "v"},
    PaimonCompactOperator: {},
    PaimonCreateTableOperator: {"columns": {"id": "BIGINT"}},
    PaimonExpireChangelogsOperator: {},
    PaimonExpirePartitionsOperator: {},
    PaimonExpireSnapshotsOperator: {"older_than": "2026-01-01T00:00:00Z"},
    PaimonExpireTagsOperator: {},
    PaimonMergeIntoOperator: {
        "source": {"table": "a.c"},
        "on": ["id"],
        "when": [{"action": "matched-upsert"}],
    },
    PaimonRemoveOrphanFilesOperator: {"older_than": "2026-01-01T00:00:00Z"},
    PaimonSnapshotSensor: {},
    PaimonSyncTableOperator: {"source": {"kind": "files", "uri": "x", "format": "debezium-json"}},
    PaimonWriteOperator: {"sql": "SELECT 1 AS id"},
}
