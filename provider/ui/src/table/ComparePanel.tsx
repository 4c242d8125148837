import type { Comparison, Snapshot } from "../api/types";
import { useData } from "../api/useData";
import { Grid } from "../parts/Grid";
import { Card, RunLink, Tile, When } from "../parts/bits";
import { Loaded } from "../parts/states";
import { bytes, change, count } from "../text/format";
import { Changes } from "./Changes";

/** Two snapshots: what the later one has more, and less. */
export function ComparePanel({ uri, from, to, close }: { uri: string; from: number; to: number; close: () => void }) {
  const both = useData<Comparison>("table/compare", { uri, from, to });
  return (
    <Card
      title={`Snapshot #${from} compared with #${to}`}
      wide
      note={
        <button type="button" className="pt-button pt-button--small" onClick={close}>
          Close
        </button>
      }
    >
      <Loaded of={both} lines={5}>
        {(data) => (
          <>
            <div className="pt-tiles">
              <Tile label="Rows" value={change(data.rows)} note={`${count(data.from.rows)} → ${count(data.to.rows)}`} />
              <Tile label="Size" value={change(data.bytes, bytes)} note={`${bytes(data.from.bytes)} → ${bytes(data.to.bytes)}`} />
              <Tile label="Files" value={change(data.files)} note={`${count(data.from.files)} → ${count(data.to.files)}`} />
              <Side title="From" snapshot={data.from} />
              <Side title="To" snapshot={data.to} />
            </div>
            {data.schema_changes.length === 0 ? (
              <p className="pt-muted">The schema is the same.</p>
            ) : (
              <Changes changes={data.schema_changes} />
            )}
            {data.by_partition === null || data.by_partition.length === 0 ? null : (
              <Grid
                rows={data.by_partition}
                label="Change by partition"
                rowKey={(p) => p.partition}
                columns={[
                  { key: "partition", head: "Partition", cell: (p) => p.partition || "the whole table" },
                  { key: "rows", head: "Rows", number: true, cell: (p) => <Signed n={p.rows} as={count} /> },
                  { key: "bytes", head: "Size", number: true, cell: (p) => <Signed n={p.bytes} as={bytes} /> },
                  { key: "files", head: "Files", number: true, cell: (p) => <Signed n={p.files} as={count} /> },
                ]}
              />
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Side({ title, snapshot }: { title: string; snapshot: Snapshot }) {
  return <Tile label={`${title} #${snapshot.id}`} value={<When at={snapshot.at} />} note={<RunLink run={snapshot.by} />} />;
}

function Signed({ n, as }: { n: number | null; as: (n: number) => string }) {
  const tone = n === null || n === 0 ? "pt-muted" : n > 0 ? "pt-plus" : "pt-minus";
  return <span className={tone}>{change(n, as)}</span>;
}
