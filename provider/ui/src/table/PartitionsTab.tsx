import type { Partition, Partitions, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { Meter } from "../charts/Meter";
import { heatStep, PartitionMap, partitionName } from "../charts/Treemap";
import { Grid, Pager, type Column } from "../parts/Grid";
import { Card, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { useView } from "../state/query";
import { bytes, count, percent, plural } from "../text/format";

const PAGE = 100;

/** The partitions as a map of sizes, and one a line. */
export function PartitionsTab({ table }: { table: TableDocument }) {
  const [view, go] = useView();
  const sort = view.sort || "-bytes";
  const partitions = useData<Partitions>("table/partitions", { uri: table.uri, sort, offset: view.offset, limit: PAGE });
  return (
    <Loaded of={partitions}>
      {(data) =>
        data.partitions.length === 0 ? (
          <Empty title={table.partition_by.length === 0 ? "This table is not partitioned" : "No partition is known"}>
            {table.partition_by.length === 0 ? undefined : "The collector reads them, or the table is empty."}
          </Empty>
        ) : (
          <Card title="Partitions" note={plural(data.total, "partition")} wide>
            <HeatLegend />
            <PartitionMap partitions={data.partitions} />
            <Grid
              rows={data.partitions}
              columns={columns(Math.max(...data.partitions.map((p) => p.bytes ?? 0)))}
              label="Partitions"
              rowKey={partitionName}
              sort={sort}
              onSort={(next) => go({ sort: next, offset: 0 })}
            />
            <Pager offset={view.offset} limit={PAGE} total={data.total} go={(offset) => go({ offset })} />
          </Card>
        )
      }
    </Loaded>
  );
}

function HeatLegend() {
  return (
    <ul className="pt-legend" aria-label="Colours">
      <li className="pt-muted">Heat: written long ago</li>
      <li>
        <svg viewBox="0 0 100 10" width="100" height="10" aria-hidden="true">
          {[0, 1, 2, 3, 4].map((step) => (
            <g key={step} className={`pt-heat pt-heat--${step}`}>
              <rect x={step * 20} width="19" height="10" rx="2" />
            </g>
          ))}
        </svg>
      </li>
      <li className="pt-muted">just now</li>
    </ul>
  );
}

function columns(most: number): Column<Partition>[] {
  return [
    {
      key: "name",
      head: "Partition",
      cell: (p) => (
        <span className="pt-inline">
          <svg viewBox="0 0 10 10" width="12" height="12" role="img" aria-label={`Heat ${percent(p.heat)}`} className={`pt-heat pt-heat--${heatStep(p.heat) ?? "unknown"}`}>
            <rect width="10" height="10" rx="2" />
          </svg>
          {partitionName(p)}
        </span>
      ),
    },
    { key: "rows", head: "Rows", sort: "rows", number: true, cell: (p) => count(p.rows) },
    {
      key: "bytes",
      head: "Size",
      sort: "bytes",
      number: true,
      cell: (p) => (
        <>
          {bytes(p.bytes)}
          <Meter value={p.bytes} most={most} label={`${bytes(p.bytes)} of at most ${bytes(most)}`} />
        </>
      ),
    },
    { key: "files", head: "Files", sort: "files", number: true, cell: (p) => count(p.files) },
    { key: "small", head: "Small files", sort: "small_files", number: true, cell: (p) => <span className={p.small_files ? "pt-tone--due" : "pt-muted"}>{count(p.small_files)}</span> },
    { key: "written", head: "Written", sort: "written_at", number: true, cell: (p) => <When at={p.written_at} /> },
  ];
}
