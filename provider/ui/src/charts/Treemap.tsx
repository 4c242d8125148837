import type { Partition } from "../api/types";
import { bytes, count, plural } from "../text/format";
import { treemap } from "./scales";
import { useWidth } from "./useWidth";

const HEIGHT = 220;
const HEATS = 5;

/** The step of the five heat colours; null when it is unknown. */
export function heatStep(heat: number | null): number | null {
  return heat === null ? null : Math.min(HEATS - 1, Math.max(0, Math.floor(heat * HEATS)));
}

export function partitionName(partition: Partition): string {
  const text = Object.entries(partition.values)
    .map(([column, value]) => `${column}=${value ?? "null"}`)
    .join(", ");
  return text === "" ? "the whole table" : text;
}

/** Partitions as areas of their size; the colour is their heat: how recently they were written. */
export function PartitionMap({ partitions }: { partitions: readonly Partition[] }) {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const shown = partitions.filter((p) => (p.bytes ?? 0) > 0).sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
  const places = treemap(shown.map((p) => p.bytes ?? 0), width, HEIGHT);
  return (
    <div ref={box} className="pt-chart-box">
      <svg width={width} height={HEIGHT} role="img" aria-label={`Sizes of ${plural(shown.length, "partition")}; the table below has the numbers`}>
        {shown.map((partition, i) => {
          const place = places[i];
          if (place === undefined) {
            return null;
          }
          const step = heatStep(partition.heat);
          const name = partitionName(partition);
          const label = Object.values(partition.values).map((value) => value ?? "null").join(", ") || name;
          const letters = Math.floor((place.width - 14) / 6.6);
          return (
            <g key={name} className={`pt-heat pt-heat--${step ?? "unknown"}`}>
              <title>{`${name}: ${bytes(partition.bytes)}, ${count(partition.files)} files`}</title>
              <rect x={place.x + 1} y={place.y + 1} width={Math.max(0, place.width - 2)} height={Math.max(0, place.height - 2)} rx="3" />
              {place.height > 34 && letters > 5 ? (
                <>
                  <text x={place.x + 9} y={place.y + 19} className="pt-heat-name">
                    {label.length > letters ? `${label.slice(0, letters - 1)}…` : label}
                  </text>
                  {place.height > 50 && letters > 8 ? (
                    <text x={place.x + 9} y={place.y + 36} className="pt-heat-size">
                      {bytes(partition.bytes)}
                    </text>
                  ) : null}
                </>
              ) : null}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
