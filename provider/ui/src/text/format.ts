/** Numbers, sizes and times as people read them.  Unknown is a dash, never 0. */

export const UNKNOWN = "–";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;
const SHORT: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
];

/** `12,345` */
export function count(n: number | null | undefined): string {
  return n === null || n === undefined || !Number.isFinite(n) ? UNKNOWN : whole.format(n).replace("-", "−");
}

/** `12.3M`: three digits at most, for tiles and axes. */
export function short(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) {
    return UNKNOWN;
  }
  const size = Math.abs(n);
  for (const [of, unit] of SHORT) {
    // 999,500 and more would be printed as 1000K
    if (size >= of * 0.9995) {
      return `${n < 0 ? "−" : ""}${digits(size / of)}${unit}`;
    }
  }
  return `${n < 0 ? "−" : ""}${digits(size)}`;
}

/** `1.2 GiB` */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) {
    return UNKNOWN;
  }
  let size = Math.abs(n);
  let unit = 0;
  while (size >= 1023.5 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${n < 0 ? "−" : ""}${unit === 0 ? whole.format(size) : digits(size)} ${UNITS[unit] ?? ""}`;
}

function digits(n: number): string {
  const places = n >= 100 || Number.isInteger(n) ? 0 : n >= 10 ? 1 : 2;
  return n.toFixed(places).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** `+1,200`, `−30`, `0` */
export function change(n: number | null | undefined, as: (n: number) => string = count): string {
  if (n === null || n === undefined) {
    return UNKNOWN;
  }
  return n > 0 ? `+${as(n)}` : as(n);
}

/** `3 min`, `2 h`, `5 days` */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) {
    return UNKNOWN;
  }
  const s = Math.max(0, seconds);
  if (s < 1) {
    return s === 0 ? "0 s" : `${digits(s)} s`;
  }
  if (s < 100) {
    return `${Math.round(s)} s`;
  }
  if (s < 100 * 60) {
    return `${Math.round(s / 60)} min`;
  }
  if (s < 48 * 3600) {
    return `${Math.round(s / 3600)} h`;
  }
  return `${whole.format(Math.round(s / 86400))} days`;
}

/** `3 min ago`; `now` is in milliseconds. */
export function ago(iso: string | null | undefined, now: number): string {
  const at = iso ? Date.parse(iso) : NaN;
  if (Number.isNaN(at)) {
    return UNKNOWN;
  }
  const s = (now - at) / 1000;
  if (s < -5) {
    return `in ${duration(-s)}`;
  }
  return s < 5 ? "just now" : `${duration(s)} ago`;
}

/** `2026-11-25 19:30:12` in the time zone that the user has chosen in Airflow. */
export function dateTime(iso: string | null | undefined, zone = timeZone()): string {
  const at = iso ? Date.parse(iso) : NaN;
  if (Number.isNaN(at)) {
    return UNKNOWN;
  }
  const parts = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  }).format(at);
  return parts.replace(",", "");
}

/** Airflow's choice, kept in the browser; UTC where there is none. */
export function timeZone(): string {
  const fallback = "UTC";
  try {
    const kept: unknown = JSON.parse(localStorage.getItem("timezone") ?? "null");
    if (typeof kept !== "string") {
      return fallback;
    }
    new Intl.DateTimeFormat("en-US", { timeZone: kept });
    return kept;
  } catch {
    return fallback;
  }
}

/** `42 %` of a share between 0 and 1. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) {
    return UNKNOWN;
  }
  const hundredths = share * 100;
  return hundredths > 0 && hundredths < 1 ? "< 1 %" : `${Math.round(hundredths)} %`;
}

/** `1 file`, `2 files` */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** Who commits under a name that belongs to no task that is known: ids say nothing to a reader. */
export function writerName(user: string | null): string {
  return user === null ? UNKNOWN : UUID.test(user) ? "another program" : user;
}

/** `catalog/database/table`, decoded, of an asset URI. */
export function tableName(uri: string): string {
  const path = uri.replace(/^paimon:\/\//, "");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
