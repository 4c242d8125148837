import type { RowsRight, Sample, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { Card } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { plural } from "../text/format";

/** Some rows, for those who may read them. */
export function SampleTab({ table }: { table: TableDocument }) {
  const sample = useData<Sample>(table.may_read_rows ? "table/sample" : null, { uri: table.uri, limit: 20 });
  if (!table.may_read_rows) {
    return <NotAllowed right={table.rows_right} />;
  }
  return (
    <Loaded of={sample}>
      {(data) =>
        data.rows.length === 0 ? (
          <Empty title="The table has no rows" />
        ) : (
          <Card
            title="Sample"
            note={`${plural(data.rows.length, "row")}${data.snapshot_id === null ? "" : ` of snapshot #${data.snapshot_id}`}. ${table.rows_right.reason}`}
            wide
          >
            {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard */}
            <div className="pt-grid-box" role="region" aria-label="Rows" tabIndex={0}>
              <table className="pt-grid pt-grid--rows">
                <thead>
                  <tr>
                    {data.columns.map((column) => (
                      <th key={column.name} scope="col">
                        {column.name}
                        <span className="pt-muted pt-name-where">{column.type}</span>
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {data.rows.map((row, i) => (
                    <tr key={i}>
                      {row.map((value, j) => (
                        <td key={j}>{value === null ? <em className="pt-muted">null</em> : value}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </Card>
        )
      }
    </Loaded>
  );
}

/** Why the rows of a table are not shown, and where the right to see them would come from. */
export function NotAllowed({ right }: { right: RowsRight }) {
  return (
    <Empty title="You may not read rows of this table">
      {right.reason}
      {right.dags.length > 0 && ` (${right.dags.join(", ")})`}. Ask an administrator for that permission.
    </Empty>
  );
}
