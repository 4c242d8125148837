import type { TableList } from "../api/types";

/** Why most numbers are unknown, or old, and what to do about it; nothing while nobody has looked yet. */
export function CollectorNote({ list }: { list: TableList }) {
  if (list.collector_error !== null) {
    return (
      <div className="pt-note pt-note--error" role="note">
        <strong>The collected metadata cannot be read now: {list.collector_error}.</strong>
        <p>
          {list.collector === null ? "Sizes and health are not known." : "Sizes and health are those of the last look."} The log of
          the API server says why. The page tries again every few seconds.
        </p>
      </div>
    );
  }
  if (list.collector !== null || !list.collector_known) {
    return null;
  }
  return (
    <div className="pt-note" role="note">
      <strong>Sizes and health are not collected yet.</strong>
      <p>
        This page shows what Airflow knows from assets and their events. For rows, sizes, files and history, add one task of{" "}
        <code>PaimonCollectMetadataOperator</code> to a Dag that runs every few minutes. The page of the documentation
        “The page of tables” has an example.
      </p>
    </div>
  );
}
