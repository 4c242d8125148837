import type { CommitKind, Snapshot } from "../api/types";
import { count, dateTime, short } from "../text/format";
import { greatest, linear } from "./scales";
import { useWidth } from "./useWidth";

const HEIGHT = 190;
const PAD = { left: 52, right: 8, top: 10, bottom: 22 };
export const KINDS: readonly [CommitKind, string][] = [
  ["APPEND", "Append"],
  ["COMPACT", "Compact"],
  ["OVERWRITE", "Overwrite"],
  ["ANALYZE", "Analyze"],
];

/** One bar a snapshot, the oldest at the left: rows added go up, rows deleted go down, colours are kinds. */
export function SnapshotBars({ snapshots, chosen, choose }: {
  snapshots: readonly Snapshot[];
  chosen: number | null;
  choose: (id: number) => void;
}) {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const oldestFirst = [...snapshots].reverse();
  const up = greatest(oldestFirst.map((s) => s.rows_added));
  const down = greatest(oldestFirst.map((s) => s.rows_deleted));
  const y = linear([-Math.max(down, (up || 1) * 0.08), up || 1], [HEIGHT - PAD.bottom, PAD.top]);
  const step = (width - PAD.left - PAD.right) / Math.max(1, oldestFirst.length);
  const bar = Math.max(1, Math.min(26, step * 0.72));
  const zero = y(0);
  return (
    <div>
      <ul className="pt-legend" aria-label="Colours">
        {KINDS.map(([kind, text]) => (
          <li key={kind} className={`pt-kind pt-kind--${kind}`}>
            <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
              <rect width="10" height="10" rx="2" />
            </svg>
            {text}
          </li>
        ))}
      </ul>
      <div ref={box} className="pt-chart-box">
        <svg width={width} height={HEIGHT} role="group" aria-label="Rows added and deleted by each snapshot">
          {[up, -down].filter((tick, i) => tick !== 0 || i === 0).map((tick) => (
            <text key={tick} x={PAD.left - 8} y={y(tick)} dy="0.32em" textAnchor="end" className="pt-axis">
              {tick > 0 ? `+${short(tick)}` : short(tick)}
            </text>
          ))}
          <line x1={PAD.left} x2={width - PAD.right} y1={zero} y2={zero} className="pt-baseline" />
          {oldestFirst.map((snapshot, i) => {
            const added = snapshot.rows_added ?? 0;
            const deleted = snapshot.rows_deleted ?? 0;
            const left = PAD.left + i * step + (step - bar) / 2;
            return (
              // by keyboard: the list below has a button for each
              <g
                key={snapshot.id}
                className={`pt-commit pt-kind--${snapshot.kind}${snapshot.id === chosen ? " pt-commit--chosen" : ""}`}
                onClick={() => choose(snapshot.id)}
              >
                <title>{`Snapshot ${snapshot.id}, ${snapshot.kind}, ${dateTime(snapshot.at)}: +${count(added)} −${count(deleted)} rows`}</title>
                <rect x={PAD.left + i * step} y={PAD.top} width={step} height={HEIGHT - PAD.top - PAD.bottom} className="pt-commit-space" />
                <rect x={left} y={Math.min(y(added), zero - 3)} width={bar} height={Math.max(3, zero - y(added))} rx={Math.min(2, bar / 3)} />
                {deleted > 0 ? (
                  <rect x={left} y={zero + 1} width={bar} height={Math.max(2, y(-deleted) - zero)} rx={Math.min(2, bar / 3)} className="pt-commit-down" />
                ) : null}
              </g>
            );
          })}
          <text x={PAD.left} y={HEIGHT - 4} className="pt-axis">
            {oldestFirst[0] ? `#${oldestFirst[0].id}` : ""}
          </text>
          <text x={width - PAD.right} y={HEIGHT - 4} textAnchor="end" className="pt-axis">
            {snapshots[0] ? `#${snapshots[0].id}` : ""}
          </text>
        </svg>
      </div>
    </div>
  );
}
