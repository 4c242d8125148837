/** Numbers to places.  Pure. */

export type Scale = (value: number) => number;

/** Maps `domain` to `range`; a domain of one value maps to the middle. */
export function linear(domain: readonly [number, number], range: readonly [number, number]): Scale {
  const [d0, d1] = domain;
  const [r0, r1] = range;
  if (d1 === d0) {
    return () => (r0 + r1) / 2;
  }
  return (value) => r0 + ((value - d0) / (d1 - d0)) * (r1 - r0);
}

/** Round values from 0 to at least `max`, about `wanted` of them; `base` 1024 gives round sizes. */
export function ticks(max: number, wanted = 3, base: 1000 | 1024 = 1000): number[] {
  if (!(max > 0) || !Number.isFinite(max)) {
    return [0, 1];
  }
  const unit = base === 1024 ? 1024 ** Math.max(0, Math.floor(Math.log(max) / Math.log(1024))) : 1;
  const raw = max / unit / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((m) => m * power >= raw) ?? 10) * power * unit;
  // files and rows come whole
  const even = base === 1000 ? Math.ceil(step) : step;
  const found: number[] = [0];
  while ((found.at(-1) ?? 0) < max) {
    found.push(even * found.length);
  }
  return found;
}

/** The greatest known value, 0 when none is. */
export function greatest(values: readonly (number | null)[]): number {
  return values.reduce<number>((most, value) => (value !== null && value > most ? value : most), 0);
}

/** The SVG path of steps: each known value holds until the next one; it breaks where a value is unknown. */
export function linePath(xs: readonly number[], ys: readonly (number | null)[]): string {
  let path = "";
  let drawing = false;
  ys.forEach((y, i) => {
    const x = xs[i];
    if (y === null || x === undefined) {
      drawing = false;
      return;
    }
    path += drawing ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`;
    drawing = true;
  });
  return path;
}

/** The indices of known values beside which none is known: no line goes through them. */
export function alone(ys: readonly (number | null)[]): number[] {
  return [...ys.keys()].filter((i) => ys[i] !== null && (ys[i - 1] ?? null) === null && (ys[i + 1] ?? null) === null);
}

/** The same, closed down to `floor`: the area below the line. */
export function areaPath(xs: readonly number[], ys: readonly (number | null)[], floor: number): string {
  let path = "";
  let open = false;
  let last = 0;
  for (const [i, y] of ys.entries()) {
    const x = xs[i];
    if (y === null || x === undefined) {
      path += open ? `L${last.toFixed(1)} ${floor.toFixed(1)}Z` : "";
      open = false;
      continue;
    }
    path += open ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${floor.toFixed(1)}V${y.toFixed(1)}`;
    open = true;
    last = x;
  }
  return open ? `${path}L${last.toFixed(1)} ${floor.toFixed(1)}Z` : path;
}

/** The index whose place in the ascending `xs` is nearest to `x`; -1 when there is none. */
export function nearest(xs: readonly number[], x: number): number {
  let best = -1;
  let distance = Infinity;
  xs.forEach((at, i) => {
    const d = Math.abs(at - x);
    if (d < distance) {
      best = i;
      distance = d;
    }
  });
  return best;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Rectangles with areas as `weights`, as square as can be, inside `width` by `height`; weights descend. */
export function treemap(weights: readonly number[], width: number, height: number): Rect[] {
  const total = weights.reduce((sum, w) => sum + w, 0);
  if (!(total > 0)) {
    return [];
  }
  const areas = weights.map((w) => (w / total) * width * height);
  const found: Rect[] = [];
  let free: Rect = { x: 0, y: 0, width, height };
  let at = 0;
  while (at < areas.length) {
    const side = Math.min(free.width, free.height);
    let end = at + 1;
    while (end < areas.length && worst(areas.slice(at, end + 1), side) <= worst(areas.slice(at, end), side)) {
      end += 1;
    }
    const row = areas.slice(at, end);
    free = lay(row, free, found);
    at = end;
  }
  return found;
}

function worst(row: readonly number[], side: number): number {
  const sum = row.reduce((s, a) => s + a, 0);
  const depth = sum / side;
  return Math.max(...row.map((area) => Math.max(depth / (area / depth), area / depth / depth)));
}

function lay(row: readonly number[], free: Rect, found: Rect[]): Rect {
  const sum = row.reduce((s, a) => s + a, 0);
  const tall = free.width >= free.height;
  const depth = sum / (tall ? free.height : free.width || 1);
  let along = 0;
  for (const area of row) {
    const length = depth > 0 ? area / depth : 0;
    found.push(
      tall
        ? { x: free.x, y: free.y + along, width: depth, height: length }
        : { x: free.x + along, y: free.y, width: length, height: depth },
    );
    along += length;
  }
  return tall
    ? { x: free.x + depth, y: free.y, width: free.width - depth, height: free.height }
    : { x: free.x, y: free.y + depth, width: free.width, height: free.height - depth };
}
