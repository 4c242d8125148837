import type { QualityResult } from "../api/types";
import { Grid } from "../parts/Grid";
import { Card, Chip, RunLink, When } from "../parts/bits";
import { Empty } from "../parts/states";
import { count } from "../text/format";

/** What the checks of the table said, the failed ones first. */
export function QualityTab({ results }: { results: readonly QualityResult[] }) {
  const passed = results.filter((r) => r.passed).length;
  const ordered = [...results].sort((a, b) => Number(a.passed) - Number(b.passed));
  return (
    <Card title="Quality" {...(results.length === 0 ? {} : { note: `${passed} of ${results.length} passed` })} wide>
      {results.length === 0 ? (
        <Empty title="No check has run yet">
          <code>PaimonCheckOperator</code> writes its results here.
        </Empty>
      ) : (
        <Grid
          rows={ordered}
          label="Quality"
          rowKey={(r) => r.name}
          columns={[
            { key: "result", head: "Result", cell: (r) => <Chip tone={r.passed ? "ok" : "error"}>{r.passed ? "passed" : "failed"}</Chip> },
            { key: "name", head: "Check", cell: (r) => r.name },
            { key: "rows", head: "Rows that failed", number: true, cell: (r) => count(r.rows_failed) },
            { key: "at", head: "When", cell: (r) => <When at={r.at} /> },
            { key: "by", head: "By", cell: (r) => <RunLink run={r.by} /> },
          ]}
        />
      )}
    </Card>
  );
}
