"""Runs in pypaimon's environment: commits one row after the other to ``d.theirs``, says how many.

pypaimon_writer.py OPTIONS WRITER COUNT
"""

from __future__ import annotations

import json
import sys

import pyarrow as pa
from pypaimon import CatalogFactory


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr
    table = CatalogFactory.create(json.loads(sys.argv[1])).get_table("d.theirs")
    writer, count = int(sys.argv[2]), int(sys.argv[3])
    print("ready", file=out, flush=True)
    sys.stdin.readline()
    acknowledged = 0
    for n in range(count):
        builder = table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        row = {"writer": pa.array([writer], pa.int32()), "n": pa.array([n], pa.int32())}
        write.write_arrow(pa.table(row))
        try:
            commit.commit(write.prepare_commit())
        except Exception as error:  # it raises plain ones when it gives up
            print(type(error).__name__, error, file=sys.stderr)
        else:
            acknowledged += 1
        write.close()
        commit.close()
    print(acknowledged, file=out, flush=True)


if __name__ == "__main__":
    main()
