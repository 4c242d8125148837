import type { Schemas, TableDocument } from "../api/types";
import { useData } from "../api/useData";
import { Card, When } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { plural } from "../text/format";
import { Changes } from "./Changes";

/** Every schema that the table has had, newest first, and what each one changed. */
export function SchemaTab({ table }: { table: TableDocument }) {
  const schemas = useData<Schemas>("table/schemas", { uri: table.uri });
  return (
    <Loaded of={schemas}>
      {(data) =>
        data.schemas.length === 0 ? (
          <Empty title="The schemas are not known yet">The collector reads them.</Empty>
        ) : (
          <Card title="Schema history" note={plural(data.schemas.length, "schema")} wide>
            <ol className="pt-history">
              {data.schemas.map((schema, i) => (
                <li key={schema.id}>
                  <div className="pt-history-head">
                    <strong>Schema #{schema.id}</strong>
                    {i === 0 ? <span className="pt-badge pt-badge--info">now</span> : null}
                    <span className="pt-muted">
                      <When at={schema.at} />
                    </span>
                  </div>
                  {schema.changes.length === 0 ? <p className="pt-muted">{i === data.schemas.length - 1 ? "The first schema." : "No difference."}</p> : <Changes changes={schema.changes} />}
                </li>
              ))}
            </ol>
          </Card>
        )
      }
    </Loaded>
  );
}
