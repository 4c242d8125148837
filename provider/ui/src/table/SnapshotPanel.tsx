import type { ReactNode } from "react";

import type { BucketChange, SnapshotDocument } from "../api/types";
import { useData } from "../api/useData";
import { Grid, type Column } from "../parts/Grid";
import { Card, Chip, RunLink, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, change, count, dateTime } from "../text/format";
import { Kind } from "./SnapshotsTab";

/** What one commit changed, by partition and bucket. */
export function SnapshotPanel({ uri, id, close }: { uri: string; id: number; close: () => void }) {
  const [, go] = useView();
  const snapshot = useData<SnapshotDocument>("table/snapshot", { uri, id });
  return (
    <Card
      title={`Snapshot #${id}`}
      wide
      note={
        <span className="pt-inline">
          <button type="button" className="pt-button pt-button--small" disabled={id <= 1} onClick={() => go({ from: id - 1, to: id, snapshot: null })}>
            Compare with #{id - 1}
          </button>
          <button type="button" className="pt-button pt-button--small" onClick={close}>
            Close
          </button>
        </span>
      }
    >
      <Loaded of={snapshot} lines={5}>
        {(data) => (
          <>
            <dl className="pt-facts pt-facts--wide">
              <Fact name="Kind" value={<Kind snapshot={data} />} />
              <Fact name="When" value={<><When at={data.at} /> <span className="pt-muted">{dateTime(data.at)}</span></>} />
              <Fact name="Who" value={data.by === null ? (data.user ?? "–") : <RunLink run={data.by} full />} />
              <Fact name="Rows" value={<>{count(data.rows)} <span className="pt-plus">{change(data.rows_added)}</span> <span className="pt-minus">−{count(data.rows_deleted)}</span></>} />
              <Fact name="Files" value={<>{count(data.files)} <span className="pt-plus">+{count(data.files_added)}</span> <span className="pt-minus">−{count(data.files_deleted)}</span></>} />
              <Fact name="Size" value={bytes(data.bytes)} />
              <Fact name="Schema" value={data.schema_id === null ? "–" : `#${data.schema_id}`} />
              <Fact name="Watermark" value={data.watermark === null ? "–" : String(data.watermark)} />
              <Fact name="Identifier" value={data.identifier === null ? "–" : String(data.identifier)} />
              {data.tags.length === 0 ? null : <Fact name="Tags" value={data.tags.map((tag) => <Chip key={tag} tone="info">{tag}</Chip>)} />}
            </dl>
            <Properties properties={data.properties} />
            {data.by_bucket === null ? (
              <Empty title="The change of each bucket is not collected">The numbers above are of the whole commit.</Empty>
            ) : data.by_bucket.length === 0 ? (
              <Empty title="This commit changed no file" />
            ) : (
              <Grid rows={data.by_bucket} columns={COLUMNS} label="Changes by bucket" rowKey={(b) => `${b.partition}/${b.bucket}`} />
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

const COLUMNS: Column<BucketChange>[] = [
  { key: "partition", head: "Partition", cell: (b) => b.partition || "the whole table" },
  { key: "bucket", head: "Bucket", number: true, cell: (b) => b.bucket },
  { key: "rows", head: "Rows", number: true, cell: (b) => <Both plus={b.rows_added} minus={b.rows_deleted} as={count} /> },
  { key: "files", head: "Files", number: true, cell: (b) => <Both plus={b.files_added} minus={b.files_deleted} as={count} /> },
  { key: "bytes", head: "Size", number: true, cell: (b) => <Both plus={b.bytes_added} minus={b.bytes_deleted} as={bytes} /> },
];

function Both({ plus, minus, as }: { plus: number | null; minus: number | null; as: (n: number | null) => string }) {
  return (
    <>
      <span className={plus ? "pt-plus" : "pt-muted"}>+{as(plus)}</span> <span className={minus ? "pt-minus" : "pt-muted"}>−{as(minus)}</span>
    </>
  );
}

export function Fact({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Properties({ properties }: { properties: Record<string, unknown> | null }) {
  const lines = Object.entries(properties ?? {});
  if (lines.length === 0) {
    return null;
  }
  return (
    <details className="pt-numbers">
      <summary>Properties ({lines.length})</summary>
      <dl className="pt-facts">
        {lines.map(([name, value]) => (
          <Fact key={name} name={name} value={typeof value === "string" ? value : JSON.stringify(value)} />
        ))}
      </dl>
    </details>
  );
}
