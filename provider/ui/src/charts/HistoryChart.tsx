import { useState, type KeyboardEvent, type PointerEvent } from "react";

import { change, dateTime, UNKNOWN } from "../text/format";
import { Numbers } from "./Numbers";
import { alone, areaPath, greatest, linear, linePath, nearest, ticks } from "./scales";
import { useWidth } from "./useWidth";

const HEIGHT = 172;
const ROWS_MAX = 200;
const PAD = { left: 60, right: 12, top: 12, bottom: 24 };

/** A measure over time, as of each commit.  The pointer or the arrow keys read single points; a table of them is behind it. */
export function HistoryChart({ title, hint, at, values, as, axis = as, base = 1000, tone }: {
  title: string;
  hint?: string;
  at: readonly string[];
  values: readonly (number | null)[];
  as: (n: number | null) => string;
  axis?: (n: number | null) => string;
  base?: 1000 | 1024;
  tone: string;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const [seen, setSeen] = useState<number | null>(null);
  const times = at.map((iso) => Date.parse(iso));
  const grid = ticks(greatest(values), 3, base);
  const x = linear([times[0] ?? 0, times.at(-1) ?? 1], [PAD.left, width - PAD.right]);
  const y = linear([0, grid.at(-1) ?? 1], [HEIGHT - PAD.bottom, PAD.top]);
  const xs = times.map(x);
  const ys = values.map((value) => (value === null ? null : y(value)));
  const last = values.length - 1;
  const shown = seen ?? last;

  const onMove = (event: PointerEvent<SVGSVGElement>) => {
    const left = event.currentTarget.getBoundingClientRect().left;
    setSeen(nearest(xs, event.clientX - left));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setSeen(Math.min(last, Math.max(0, shown + step)));
    }
  };
  const value = values[shown] ?? null;
  const first = values.find((v) => v !== null) ?? null;
  const [begin, end] = ends(at[0], at.at(-1));
  const grown = value === null || first === null ? null : value - first;
  return (
    <figure className={`pt-chart pt-chart--${tone}`}>
      <figcaption className="pt-chart-head">
        <span className="pt-chart-title" title={hint}>{title}</span>
        <span className="pt-chart-value">{as(value)}</span>
        <span className="pt-muted">
          {seen === null ? (grown === null ? "" : `${change(grown, as)} in this time`) : dateTime(at[shown])}
        </span>
      </figcaption>
      <div ref={box} className="pt-chart-box">
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${title} over time: ${as(first)} at first, ${as(values[last] ?? null)} at last. Arrow keys read single points.`}
          tabIndex={0}
          onPointerMove={onMove}
          onPointerLeave={() => setSeen(null)}
          onBlur={() => setSeen(null)}
          onKeyDown={onKeyDown}
        >
          {grid.map((tick) => (
            <g key={tick}>
              <line x1={PAD.left} x2={width - PAD.right} y1={y(tick)} y2={y(tick)} className="pt-gridline" />
              <text x={PAD.left - 8} y={y(tick)} dy="0.32em" textAnchor="end" className="pt-axis">
                {axis(tick)}
              </text>
            </g>
          ))}
          <path d={areaPath(xs, ys, HEIGHT - PAD.bottom)} className="pt-area" />
          <path d={linePath(xs, ys)} className="pt-line" />
          {alone(ys).map((i) => (
            <circle key={i} cx={xs[i]} cy={ys[i] ?? 0} r="3" className="pt-dot" />
          ))}
          <text x={PAD.left} y={HEIGHT - 6} className="pt-axis">
            {begin}
          </text>
          <text x={width - PAD.right} y={HEIGHT - 6} textAnchor="end" className="pt-axis">
            {end}
          </text>
          {seen !== null && xs[shown] !== undefined ? (
            <g>
              <line x1={xs[shown]} x2={xs[shown]} y1={PAD.top} y2={HEIGHT - PAD.bottom} className="pt-cross" />
              {ys[shown] == null ? null : <circle cx={xs[shown]} cy={ys[shown]} r="4" className="pt-dot" />}
            </g>
          ) : null}
        </svg>
      </div>
      <Numbers
        label="Time"
        title={title}
        rows={() => at.map((iso, i) => [dateTime(iso), as(values[i] ?? null)] as const).slice(-ROWS_MAX)}
      />
    </figure>
  );
}

/** What stands at both ends of the axis: to the minute, or to the second where the minute is the same; one moment once. */
function ends(first: string | undefined, last: string | undefined): [string, string] {
  const [from, to] = [first, last].map((iso) => dateTime(iso).replace(UNKNOWN, ""));
  const [begin, end] = [from ?? "", to ?? ""];
  if (first === last) {
    return [begin.slice(0, 16), ""];
  }
  return begin.slice(0, 16) === end.slice(0, 16) ? [begin, end] : [begin.slice(0, 16), end.slice(0, 16)];
}
