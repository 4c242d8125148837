import type { Bucket, Levels, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { LevelBar } from "../charts/LevelBar";
import { Grid, type Column } from "../parts/Grid";
import { Card, Tile } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, count, plural } from "../text/format";

const MANY = 5;
const TOO_MANY = 10;

/** The sorted runs of each bucket: how much a reader has to merge. */
export function LevelsTab({ table }: { table: TableDocument }) {
  const [view, go] = useView();
  const levels = useData<Levels>("table/levels", { uri: table.uri, partition: view.partition });
  return (
    <Loaded of={levels}>
      {(data) => {
        if (data.buckets.length === 0) {
          return (
            <Empty title="No levels are known">
              {table.primary_key.length === 0 ? "An append table has no levels: its files are read one after the other." : "The collector reads them from the manifests."}
            </Empty>
          );
        }
        const worst = Math.max(...data.buckets.map((b) => b.read_amplification));
        const most = Math.max(...data.buckets.map(sum));
        const deepest = Math.max(...data.buckets.flatMap((b) => b.levels.map((l) => l.level)));
        return (
          <>
            <div className="pt-tiles">
              <Tile label="Buckets" value={count(data.total)} />
              <Tile label="Worst read amplification" value={amplification(worst)} tone={tone(worst)} note="sorted runs that one read merges" />
              <Tile label="Largest bucket" value={bytes(most)} />
              <Tile label="Deepest level" value={count(deepest)} />
            </div>
            <Card
              title="Levels by bucket"
              note={data.buckets.length < data.total ? `the first ${count(data.buckets.length)} of ${plural(data.total, "bucket")}` : plural(data.total, "bucket")}
              wide
            >
              <ul className="pt-legend" aria-label="Colours">
                {[0, 1, 2, 3, 4, 5].map((level) => (
                  <li key={level}>
                    <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                      <rect width="10" height="10" rx="2" className={`pt-level pt-level--${level}`} />
                    </svg>
                    L{level}
                    {level === 5 ? " and deeper" : level === 0 ? " (new)" : ""}
                  </li>
                ))}
              </ul>
              {view.partition === "" ? null : (
                <p>
                  Only partition <code>{view.partition}</code>.{" "}
                  <button type="button" className="pt-linkbutton" onClick={() => go({ partition: "" })}>
                    Show all
                  </button>
                </p>
              )}
              <Grid rows={data.buckets} columns={columns(most)} label="Levels by bucket" rowKey={(b) => `${b.partition}/${b.bucket}`} />
            </Card>
          </>
        );
      }}
    </Loaded>
  );
}

function columns(most: number): Column<Bucket>[] {
  return [
    { key: "partition", head: "Partition", cell: (b) => b.partition || <span className="pt-muted">the whole table</span> },
    { key: "bucket", head: "Bucket", number: true, cell: (b) => b.bucket },
    { key: "levels", head: "Levels", cell: (b) => <LevelBar bucket={b} most={most} /> },
    { key: "files", head: "Files", number: true, cell: (b) => count(b.levels.reduce((n, l) => n + l.files, 0)) },
    { key: "bytes", head: "Size", number: true, cell: (b) => bytes(sum(b)) },
    { key: "runs", head: "Sorted runs", number: true, cell: (b) => count(b.sorted_runs) },
    {
      key: "amplification",
      head: "Read amplification",
      number: true,
      cell: (b) => <span className={`pt-tone--${tone(b.read_amplification) ?? "plain"}`}>{amplification(b.read_amplification)}</span>,
    },
  ];
}

function sum(bucket: Bucket): number {
  return bucket.levels.reduce((n, level) => n + level.bytes, 0);
}

function amplification(n: number): string {
  return `${Number.isInteger(n) ? n : n.toFixed(1)}×`;
}

function tone(n: number): "due" | "bad" | undefined {
  return n >= TOO_MANY ? "bad" : n >= MANY ? "due" : undefined;
}
