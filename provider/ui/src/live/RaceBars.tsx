import { short } from "../text/format";
import { Numbers } from "../charts/Numbers";
import { useWidth } from "../charts/useWidth";

const ROW = 34;
const SHOWN = 14;
const LABEL = 120;
const NUMBER = 76;
const HUES = 8;

/** The groups in the order of their numbers; they move and grow as commits come, unless motion is unwanted. */
export function RaceBars({ bars, title }: { bars: readonly [string, number][]; title: string }) {
  const [box, width] = useWidth<HTMLDivElement>(560);
  const shown = bars.slice(0, SHOWN);
  const most = Math.max(0, ...shown.map(([, n]) => n));
  const room = Math.max(40, width - LABEL - NUMBER);
  // in a fixed order, so that each keeps its element and its move can be seen
  const byKey = shown.map(([key, n], place) => ({ key, n, place })).sort((a, b) => (a.key < b.key ? -1 : 1));
  // by its place in the alphabet, so that a group keeps its colour while it moves
  const hues = new Map(bars.map(([key]) => key).sort().map((key, i) => [key, i]));
  return (
    <div ref={box} className="pt-chart-box">
      <svg width={width} height={Math.max(1, shown.length) * ROW} role="img" aria-label={`${title}: ${shown.slice(0, 3).map(([k, n]) => `${k} ${short(n)}`).join(", ")}. The table below has all.`}>
        {byKey.map(({ key, n, place }) => {
          const share = most > 0 ? Math.max(0, n / most) : 0;
          return (
            <g key={key} className="pt-race" style={{ transform: `translateY(${place * ROW}px)` }}>
              <text x={LABEL - 10} y={ROW / 2} dy="0.34em" textAnchor="end" className="pt-race-name">
                {key.length > 16 ? `${key.slice(0, 15)}…` : key}
                <title>{key}</title>
              </text>
              <rect
                x={LABEL}
                y={5}
                width={room}
                height={ROW - 10}
                rx="3"
                className={`pt-race-bar pt-race-bar--${(hues.get(key) ?? 0) % HUES}`}
                style={{ transform: `scaleX(${Math.max(0.002, share)})`, transformOrigin: `${LABEL}px 0` }}
              />
              <g className="pt-race-number" style={{ transform: `translateX(${LABEL + share * room + 8}px)` }}>
                <text y={ROW / 2} dy="0.34em">
                  {short(n)}
                </text>
              </g>
            </g>
          );
        })}
      </svg>
      {bars.length > SHOWN ? <p className="pt-muted">and {bars.length - SHOWN} more</p> : null}
      <Numbers
        label="Group"
        title={title}
        rows={() => bars.map(([key, n]) => [key, n.toLocaleString("en-US")])}
      />
    </div>
  );
}
