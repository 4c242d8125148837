import type { Bucket } from "../api/types";
import { bytes, count } from "../text/format";

const WIDTH = 400;
const HEIGHT = 18;

/** The levels of a bucket beside each other, as wide as their bytes; `most` bytes fill the bar. */
export function LevelBar({ bucket, most }: { bucket: Bucket; most: number }) {
  const widths = bucket.levels.map((l) => (most > 0 ? Math.max(2, (l.bytes / most) * (WIDTH - 2 * bucket.levels.length)) : 0));
  const told = bucket.levels.map((l) => `level ${l.level}: ${count(l.files)} files, ${bytes(l.bytes)}`).join("; ");
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="pt-levelbar" role="img" aria-label={told} preserveAspectRatio="none">
      <rect width={WIDTH} height={HEIGHT} rx="3" className="pt-track" />
      {bucket.levels.map((level, i) => {
        const width = widths[i] ?? 0;
        const x = widths.slice(0, i).reduce((sum, w) => sum + w + 1, 0);
        return (
          <rect key={level.level} x={x} width={width} height={HEIGHT} rx="2" className={`pt-level pt-level--${Math.min(level.level, 5)}`}>
            <title>{`Level ${level.level}: ${count(level.files)} files, ${bytes(level.bytes)}, ${count(level.rows)} rows`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
