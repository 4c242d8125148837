import { useEffect, useState, type ReactNode } from "react";
import { Link } from "react-router-dom";

import type { Badge, Health, Run } from "../api/types";
import { ago, dateTime, duration, UNKNOWN } from "../text/format";

const HEALTH: Record<Health, string> = { ok: "Healthy", due: "Due", bad: "Bad", unknown: "Unknown" };

export function HealthMark({ health, label = true }: { health: Health; label?: boolean }) {
  return (
    <span className={`pt-health pt-health--${health}`}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        {health === "ok" ? <circle cx="6" cy="6" r="5" /> : null}
        {health === "due" ? <path d="M6 1 11.5 11H.5z" /> : null}
        {health === "bad" ? <path d="M3.6.8h4.8l2.8 2.8v4.8l-2.8 2.8H3.6L.8 8.4V3.6z" /> : null}
        {health === "unknown" ? <circle cx="6" cy="6" r="4.25" className="pt-health-ring" /> : null}
      </svg>
      <span className={label ? undefined : "pt-hidden"}>{HEALTH[health]}</span>
    </span>
  );
}

export function Badges({ badges }: { badges: readonly Badge[] }) {
  return badges.map((badge) => (
    <span key={badge.code} className={`pt-badge pt-badge--${badge.severity}`} title={badge.code}>
      {badge.text}
    </span>
  ));
}

export function Chip({ children, tone = "plain" }: { children: ReactNode; tone?: string }) {
  return <span className={`pt-badge pt-badge--${tone}`}>{children}</span>;
}

/** The run that did it, linked to Airflow's own page of the task, the run or the Dag. */
export function RunLink({ run, full = false }: { run: Run | null | undefined; full?: boolean }) {
  if (!run) {
    return <span className="pt-muted">{UNKNOWN}</span>;
  }
  const text = run.task_id === null ? run.dag_id : `${run.dag_id}.${run.task_id}`;
  return (
    <Link className="pt-link" to={runPath(run)} title={run.run_id ?? text}>
      {text}
      {full && run.run_id !== null ? <span className="pt-muted"> · {run.run_id}</span> : null}
    </Link>
  );
}

/** Where Airflow shows it, below the path that it is served under. */
export function runPath(run: Run): string {
  const part = encodeURIComponent;
  const dag = `/dags/${part(run.dag_id)}`;
  if (run.run_id === null) {
    return run.task_id === null ? dag : `${dag}/tasks/${part(run.task_id)}`;
  }
  const path = `${dag}/runs/${part(run.run_id)}`;
  if (run.task_id === null) {
    return path;
  }
  const mapped = run.map_index !== null && run.map_index >= 0 ? `/mapped/${run.map_index}` : "";
  return `${path}/tasks/${part(run.task_id)}${mapped}`;
}

/** The time in milliseconds, a new one every ten seconds, so that ages on the page stay true. */
export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function When({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) {
    return <span className="pt-muted">{UNKNOWN}</span>;
  }
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at, now)}
    </time>
  );
}

export function Age({ seconds, at }: { seconds: number | null; at: string | null }) {
  if (at) {
    return <When at={at} />;
  }
  return <>{duration(seconds)}</>;
}

export function Tile({ label, value, note, tone, onClick, pressed }: {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  tone?: "ok" | "due" | "bad" | undefined;
  onClick?: () => void;
  pressed?: boolean;
}) {
  const inside = (
    <>
      <span className="pt-tile-label">{label}</span>
      <span className={`pt-tile-value${tone ? ` pt-tone--${tone}` : ""}`}>{value}</span>
      {note === undefined ? null : <span className="pt-tile-note">{note}</span>}
    </>
  );
  return onClick ? (
    <button type="button" className="pt-tile pt-tile--button" onClick={onClick} aria-pressed={pressed ?? false}>
      {inside}
    </button>
  ) : (
    <div className="pt-tile">{inside}</div>
  );
}

export function Card({ title, note, children, wide = false }: {
  title: string;
  note?: ReactNode;
  children: ReactNode;
  wide?: boolean;
}) {
  return (
    <section className={`pt-card${wide ? " pt-card--wide" : ""}`} aria-label={title}>
      <header className="pt-card-head">
        <h3>{title}</h3>
        {note === undefined ? null : <span className="pt-muted">{note}</span>}
      </header>
      {children}
    </section>
  );
}

export function Copy({ text, what, label = "Copy", small = true }: { text: string; what: string; label?: string; small?: boolean }) {
  const [told, setTold] = useState("");
  useEffect(() => {
    if (told === "") {
      return;
    }
    const timer = setTimeout(() => setTold(""), 2000);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = () => {
    copyText(text).then(
      () => setTold("Copied"),
      () => setTold("Select the text and copy it"),
    );
  };
  return (
    <button type="button" className={`pt-button${small ? " pt-button--small" : ""}`} onClick={copy}>
      <span aria-live="polite">{told || label}</span>
      <span className="pt-hidden"> {what}</span>
    </button>
  );
}

async function copyText(text: string): Promise<void> {
  // the type says that it is always there; over plain http it is not
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) {
    throw new Error("no clipboard");
  }
  await clipboard.writeText(text);
}
