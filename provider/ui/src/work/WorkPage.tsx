import { Link } from "react-router-dom";

import type { Deed, TableTie, Work } from "../api/types";
import { useData } from "../api/useData";
import { Grid, type Column } from "../parts/Grid";
import { Badges, Card, Chip, HealthMark, RunLink, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { tablePath } from "../state/query";
import { bytes, count, plural, short, tableName } from "../text/format";

const EVERY_S = 30;
const ROLE = { writes: "writes", reads: "reads", starts: "starts the Dag" } as const;

/** Where Airflow shows the tab: it gives what its own address names. */
export interface Place {
  dagId: string;
  taskId?: string | undefined;
  runId?: string | undefined;
  mapIndex?: string | undefined;
}

/** The tables of a Dag, a task or a run as a tab of Airflow's own page, each linked to the page of tables. */
export function WorkPage({ dagId, taskId, runId, mapIndex }: Place) {
  const work = useData<Work>(
    "work",
    { dag_id: dagId, task_id: taskId ?? null, run_id: runId ?? null, map_index: mapIndex === undefined ? null : Number(mapIndex) },
    EVERY_S,
  );
  return (
    <main className="pt-page">
      <Loaded of={work} lines={6}>
        {(data) => (
          <>
            <Card title="Paimon tables" note={plural(data.total, "table")} wide>
              {data.tables.length === 0 ? (
                <Empty title="No tables here yet">
                  A table appears when a task writes it, or when the Dag names it as an asset.
                </Empty>
              ) : (
                <Grid rows={data.tables} columns={tableColumns(taskId === undefined)} label="Paimon tables" rowKey={(t) => t.uri} />
              )}
            </Card>
            {data.done.length === 0 ? null : (
              <Card title="What was done to them" note={runId === undefined ? "the last runs" : "this run"} wide>
                <Grid
                  rows={data.done}
                  columns={DEEDS}
                  label="What was done"
                  rowKey={(d, i) => `${d.uri} ${d.at ?? ""} ${i}`}
                />
              </Card>
            )}
          </>
        )}
      </Loaded>
    </main>
  );
}

function tableColumns(withTasks: boolean): Column<TableTie>[] {
  const columns: Column<TableTie>[] = [
    {
      key: "name",
      head: "Table",
      cell: (t) => (
        <span className="pt-inline">
          <Link className="pt-link pt-name-link" to={tablePath({ table: t.uri })}>
            {tableName(t.uri)}
          </Link>
          <Badges badges={t.line?.badges ?? []} />
        </span>
      ),
    },
    {
      key: "roles",
      head: "Here",
      cell: (t) => (
        <span className="pt-inline">
          {t.roles.map((role) => (
            <Chip key={role} tone={role === "writes" ? "info" : "plain"}>
              {ROLE[role]}
            </Chip>
          ))}
        </span>
      ),
    },
    { key: "health", head: "Health", cell: (t) => <HealthMark health={t.line?.health ?? "unknown"} /> },
    { key: "rows", head: "Rows", number: true, cell: (t) => short(t.line?.rows) },
    { key: "bytes", head: "Size", number: true, cell: (t) => bytes(t.line?.bytes) },
    { key: "updated", head: "Updated", number: true, cell: (t) => <When at={t.line?.updated_at} /> },
  ];
  return withTasks ? [...columns, { key: "tasks", head: "Tasks", cell: (t) => t.tasks.join(", ") }] : columns;
}

const DEEDS: Column<Deed>[] = [
  { key: "at", head: "When", cell: (d) => <When at={d.at} /> },
  {
    key: "table",
    head: "Table",
    cell: (d) => (
      <Link className="pt-link" to={tablePath({ table: d.uri })}>
        {tableName(d.uri)}
      </Link>
    ),
  },
  { key: "action", head: "Action", cell: (d) => (d.action ?? "event").replaceAll("_", " ") },
  {
    key: "snapshot",
    head: "Snapshot",
    number: true,
    cell: (d) =>
      d.snapshot_id === null ? (
        <span className="pt-muted">–</span>
      ) : (
        <Link className="pt-link" to={tablePath({ table: d.uri, tab: "snapshots", snapshot: d.snapshot_id })}>
          #{d.snapshot_id}
        </Link>
      ),
  },
  { key: "rows", head: "Rows written", number: true, cell: (d) => count(d.rows_written) },
  { key: "by", head: "By", cell: (d) => <RunLink run={d.by} full /> },
];
