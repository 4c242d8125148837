import { Link, useLocation } from "react-router-dom";

import type { AssetTable } from "../api/types";
import { useData } from "../api/useData";
import { HealthMark, When } from "../parts/bits";
import { tablePath } from "../state/query";
import { tableName } from "../text/format";

/** A line on Airflow's page of an asset that leads to its table.  It is on every page, and nothing on all others. */
export function AssetLink() {
  const { pathname } = useLocation();
  const id = /^\/assets\/(\d+)$/.exec(pathname)?.[1] ?? null;
  const asset = useData<AssetTable>(id === null ? null : "asset", { id });
  const of = id === null || asset.loading ? null : asset.data;
  if (of === null) {
    return null; // no table's asset, or not one that this user may see
  }
  return (
    <aside className="pt pt-asset" aria-label="Paimon table">
      <span className="pt-inline">
        <span className="pt-muted">Paimon table</span>
        <Link className="pt-link pt-name-link" to={tablePath({ table: of.uri })}>
          {tableName(of.uri)}
        </Link>
        <HealthMark health={of.line?.health ?? "unknown"} />
      </span>
      {of.events.length === 0 ? null : (
        <span className="pt-inline">
          <span className="pt-muted">Last events</span>
          {of.events.map((event, i) => (
            <span key={i} className="pt-inline">
              {event.snapshot_id === null ? null : (
                <Link className="pt-link" to={tablePath({ table: of.uri, tab: "snapshots", snapshot: event.snapshot_id })}>
                  snapshot {event.snapshot_id}
                </Link>
              )}
              <When at={event.at} />
            </span>
          ))}
        </span>
      )}
    </aside>
  );
}
