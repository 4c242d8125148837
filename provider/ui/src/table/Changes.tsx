import type { SchemaChange } from "../api/types";

const SIGN: Record<SchemaChange["kind"], string> = { add: "+", drop: "−", rename: "~", type: "~", option: "~", comment: "~", order: "~" };
const SAID: Record<SchemaChange["kind"], string> = {
  add: "added",
  drop: "dropped",
  rename: "renamed",
  type: "type changed",
  option: "option",
  comment: "comment",
  order: "moved",
};

/** Differences of two schemas, one a line, as people know them from a diff. */
export function Changes({ changes }: { changes: readonly SchemaChange[] }) {
  return (
    <ul className="pt-diff">
      {changes.map((change, i) => (
        <li key={i} className={`pt-diff-line pt-diff-line--${change.kind}`}>
          <span className="pt-diff-sign" aria-hidden="true">
            {SIGN[change.kind]}
          </span>
          <strong>{change.column ?? ""}</strong>
          <span className="pt-muted">{SAID[change.kind]}</span>
          {change.before === null ? null : <del>{change.before}</del>}
          {change.before !== null && change.after !== null ? <span aria-hidden="true">→</span> : null}
          {change.after === null ? null : <ins>{change.after}</ins>}
        </li>
      ))}
    </ul>
  );
}
