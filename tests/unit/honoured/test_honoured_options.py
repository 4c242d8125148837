"""An honoured option does what it says: with it something is seen that is not seen without it.

Method: each scene looks at the same small table, once as it is by default and once with the option.
Options that need more than a small table are shown by another test, which ``SHOWN`` names.  One that is
classed honoured and shown by neither fails the last test, so that a new option cannot be forgotten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from table_core.options.classes import OptionClass, class_of
from tests.option_keys import ASKING
from tests.unit.honoured import (
    cache_scenes,
    commit_scenes,
    file_scenes,
    merge_scenes,
    read_scenes,
    upkeep_scenes,
)
from tests.unit.honoured.scenes import SCENES

HONOURED = [key for key in ASKING if class_of(key) is OptionClass.HONOURED]
TESTS = Path(__file__).parents[2]
ELSEWHERE = {
    "interop/test_clustered_keys.py": "clustering.columns",
    "golden/test_file_indexes.py": "file-index.read.enabled",
    "unit/lsm/test_universal.py": (
        "compaction.force-up-level-0 compaction.offpeak-ratio compaction.offpeak.end.hour "
        "compaction.offpeak.start.hour compaction.size-ratio compaction.total-size-threshold "
        "force-lookup lookup-compact"
    ),
    "unit/table/test_after_commit.py": (
        "consumer.expiration-time end-input.check-partition-expire sink.process-time-zone "
        "sink.watermark-time-zone snapshot.expire.execution-mode "
        "snapshot.watermark-idle-timeout tag.time-expire-enabled"
    ),
    "unit/table/test_following.py": "scan.bounded.watermark streaming-read-overwrite",
    "unit/table/test_lent_rows.py": "scan.fallback-branch",
    "unit/table/test_lookup_join.py": "lookup.cache-max-disk-size lookup.cache-max-memory-size",
    "unit/table/test_manifest_sort.py": "manifest-sort.enabled manifest-sort.partition-field",
    "unit/table/test_rows_numbered_anew.py": "commit.discard-duplicate-files",
    "unit/table/test_sort_compaction.py": "clustering.strategy",
    "unit/table/test_what_is_left_out.py": "postpone.merge-on-read",
    "unit/table/test_spilling.py": (
        "local-merge-buffer-size write-buffer-spill.max-disk-size write-buffer-spillable"
    ),
    "unit/table/test_stream_plan.py": (
        "scan.creation-time-millis scan.file-creation-time-millis streaming-read-append-overwrite"
    ),
    "unit/table/test_write_buffers.py": "write-buffer-size",
    "unit/test_expire_changelogs.py": "changelog.time-retained",
    "unit/test_file_index_building.py": "file-index.in-manifest-threshold",
    "unit/test_partial_update.py": "partial-update.remove-record-on-sequence-group",
    "unit/test_record_expiry.py": "record-level.expire-time record-level.time-field",
    "unit/test_scan.py": "deletion-vectors.merge-on-read scan.plan-sort-partition",
}
SHOWN = {key: file for file, keys in ELSEWHERE.items() for key in keys.split()}
ROOMS = (cache_scenes, commit_scenes, file_scenes, merge_scenes, read_scenes, upkeep_scenes)


@pytest.mark.parametrize("key", SCENES)
def test_it_is_seen_that_an_option_is_honoured(key: str) -> None:
    scene = SCENES[key]
    assert scene.without != scene.with_it
    assert scene.look({}) == scene.without
    assert scene.look({key: scene.value}) == scene.with_it


@pytest.mark.parametrize("key", SHOWN)
def test_another_test_shows_it(key: str) -> None:
    assert key in (TESTS / SHOWN[key]).read_text()


def test_every_honoured_option_is_shown() -> None:
    shown = [*SCENES, *SHOWN]
    assert len(ROOMS) == 6
    assert sorted(shown) == sorted(set(shown))
    assert sorted(shown) == sorted(HONOURED)
