import type { Maintenance, MaintenanceRun, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { Meter } from "../charts/Meter";
import { Grid, type Column } from "../parts/Grid";
import { Card, RunLink, Tile, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, count, duration } from "../text/format";

/** What each run of maintenance has saved. */
export function MaintenanceTab({ table }: { table: TableDocument }) {
  const [, go] = useView();
  const maintenance = useData<Maintenance>("table/maintenance", { uri: table.uri, limit: 100 }, 30);
  return (
    <Loaded of={maintenance}>
      {(data) => {
        const saved = totals(data.runs);
        return (
          <>
            <div className="pt-tiles">
              <Tile label="Runs" value={count(data.runs.length)} />
              <Tile label="Files less" value={count(saved.files)} />
              <Tile label="Bytes less" value={bytes(saved.bytes)} />
              <Tile label="Snapshots expired" value={count(saved.snapshots)} />
              <Tile
                label="Next"
                value={table.next_maintenance === null ? "none due" : table.next_maintenance.action.replaceAll("_", " ")}
                note={table.next_maintenance?.reason}
              />
            </div>
            <Card title="Maintenance" wide>
              {data.runs.length === 0 ? (
                <Empty title="No maintenance has run yet">
                  <button type="button" className="pt-button" onClick={() => go({ table: table.uri, tab: "actions" }, { keep: false })}>
                    See what can be done
                  </button>
                </Empty>
              ) : (
                <Grid rows={data.runs} columns={columns(data.runs)} label="Maintenance" rowKey={(r, i) => `${r.at ?? ""} ${i}`} />
              )}
            </Card>
          </>
        );
      }}
    </Loaded>
  );
}

/** What all runs saved together; a run that does not know one end of it counts nothing. */
export function totals(runs: readonly MaintenanceRun[]): { files: number; bytes: number; snapshots: number } {
  const less = (before: number | null, after: number | null) => (before === null || after === null ? 0 : Math.max(0, before - after));
  return {
    files: runs.reduce((n, r) => n + less(r.files_before, r.files_after), 0),
    bytes: runs.reduce((n, r) => n + less(r.bytes_before, r.bytes_after), 0),
    snapshots: runs.reduce((n, r) => n + (r.snapshots_deleted ?? 0), 0),
  };
}

function columns(runs: readonly MaintenanceRun[]): Column<MaintenanceRun>[] {
  const most = Math.max(1, ...runs.map((r) => r.files_before ?? 0));
  return [
    { key: "at", head: "When", cell: (r) => <When at={r.at} /> },
    { key: "action", head: "Action", cell: (r) => <strong>{r.action.replaceAll("_", " ")}</strong> },
    {
      key: "files",
      head: "Files",
      number: true,
      cell: (r) => (
        <>
          {count(r.files_before)} → {count(r.files_after)}
          <Meter value={r.files_before} most={most} bad={r.files_before === null || r.files_after === null ? 0 : Math.max(0, r.files_before - r.files_after)} label={`${count(r.files_before)} files before, ${count(r.files_after)} after`} />
        </>
      ),
    },
    { key: "bytes", head: "Size", number: true, cell: (r) => `${bytes(r.bytes_before)} → ${bytes(r.bytes_after)}` },
    { key: "rows", head: "Rows written", number: true, cell: (r) => count(r.rows_written) },
    { key: "snapshots", head: "Snapshots expired", number: true, cell: (r) => count(r.snapshots_deleted) },
    { key: "seconds", head: "Took", number: true, cell: (r) => duration(r.seconds) },
    { key: "by", head: "By", cell: (r) => <RunLink run={r.by} /> },
  ];
}
