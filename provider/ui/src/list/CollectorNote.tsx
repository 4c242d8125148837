/** Why most numbers are unknown, and what to do about it. */
export function CollectorNote() {
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
