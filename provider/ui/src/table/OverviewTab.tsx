import type { Field, History, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { HistoryChart } from "../charts/HistoryChart";
import { LineageGraph } from "../charts/LineageGraph";
import { Grid, type Column } from "../parts/Grid";
import { Card, Chip, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, count, plural, short, tableName } from "../text/format";

/** The table over time, its columns, and where its rows come from and go to. */
export function OverviewTab({ table }: { table: TableDocument }) {
  const [, , link] = useView();
  const history = useData<History>("table/history", { uri: table.uri, points: 200 }, 60);
  const { lineage } = table;
  const nobody = [lineage.writers, lineage.readers, lineage.upstream, lineage.downstream].every((l) => l.length === 0);
  return (
    <>
      <Loaded of={history} lines={5}>
        {(data) =>
          data.at.length === 0 ? (
            <Card title="Over time">
              <Empty title="No history yet">The collector adds a point each time that it runs.</Empty>
            </Card>
          ) : (
            <div className="pt-charts">
              <HistoryChart {...rowsOf(table)} at={data.at} values={data.rows} as={count} axis={short} tone="rows" />
              <HistoryChart title="Size" at={data.at} values={data.bytes} as={bytes} base={1024} tone="bytes" />
              <HistoryChart title="Files" at={data.at} values={data.files} as={count} axis={short} tone="files" />
            </div>
          )
        }
      </Loaded>
      <Card title="Lineage" wide>
        {nobody ? (
          <Empty title="No lineage yet">It is known once a task has written or read this table.</Empty>
        ) : (
          <LineageGraph uri={table.uri} lineage={lineage} link={link} />
        )}
      </Card>
      <Card title="Columns" note={plural(table.fields.length, "column")} wide>
        {table.fields.length === 0 ? (
          <Empty title="The columns are not known yet">The collector reads them from the schema.</Empty>
        ) : (
          <Fields table={table} />
        )}
      </Card>
      {table.variants.length === 0 ? null : (
        <Card title="Other assets of this table" wide>
          <Grid
            rows={table.variants}
            label="Other assets of this table"
            rowKey={(v) => v.uri}
            columns={[
              { key: "label", head: "Asset", cell: (v) => v.label },
              { key: "uri", head: "URI", cell: (v) => <code>{v.uri}</code> },
              { key: "event", head: "Last event", cell: (v) => <When at={v.last_event_at} /> },
            ]}
          />
        </Card>
      )}
    </>
  );
}

/** Snapshots count stored rows: in a table with a key there are several of one key until they are merged. */
function rowsOf(table: TableDocument): { title: string; hint?: string } {
  const hint = "What files hold. Versions of one key count each, until a compaction merges them.";
  return table.kind === "primary-key" ? { title: "Stored rows", hint } : { title: "Rows" };
}

function Fields({ table }: { table: TableDocument }) {
  const sources = new Map(table.lineage.columns.map((column) => [column.to, column.from]));
  const columns: Column<Field>[] = [
    { key: "id", head: "Id", number: true, cell: (f) => f.id },
    {
      key: "name",
      head: "Column",
      cell: (f) => (
        <span className="pt-inline">
          <strong>{f.name}</strong>
          {table.primary_key.includes(f.name) ? <Chip tone="info">key</Chip> : null}
          {table.partition_by.includes(f.name) ? <Chip>partition</Chip> : null}
        </span>
      ),
    },
    { key: "type", head: "Type", cell: (f) => <code>{f.type}</code> },
    { key: "null", head: "Null", cell: (f) => (f.nullable ? "allowed" : "never") },
    {
      key: "from",
      head: "Made of",
      cell: (f) => (sources.get(f.name) ?? []).map((s) => `${tableName(s.uri)}.${s.column}`).join(", ") || <span className="pt-muted">–</span>,
    },
    { key: "comment", head: "Comment", cell: (f) => f.comment ?? "" },
  ];
  return <Grid rows={table.fields} columns={columns} label="Columns" rowKey={(f) => f.id} />;
}
