import type { ReactNode } from "react";

import type { RequestFailed } from "../api/client";
import type { Data } from "../api/useData";

/** Grey bars in the place of what is on its way. */
export function Loading({ lines = 4, what = "Loading" }: { lines?: number; what?: string }) {
  return (
    <div className="pt-loading" role="status">
      <span className="pt-hidden">{what} …</span>
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className={`pt-loading-bar pt-loading-bar--${i % 3}`} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="pt-empty">
      <svg viewBox="0 0 48 48" width="40" height="40" aria-hidden="true">
        <path d="M8 16 24 8l16 8-16 8z M8 24l16 8 16-8 M8 32l16 8 16-8" className="pt-empty-icon" />
      </svg>
      <strong>{title}</strong>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

export function Failure({ error, retry }: { error: RequestFailed; retry?: () => void }) {
  const facts = Object.entries(error.facts).filter(([, fact]) => fact !== null && typeof fact !== "object");
  return (
    <div className="pt-note pt-note--error" role="alert">
      <strong>{error.message}</strong>
      {facts.length === 0 ? null : (
        <dl className="pt-facts">
          {facts.map(([name, fact]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{String(fact)}</dd>
            </div>
          ))}
        </dl>
      )}
      {retry === undefined || error.status === 403 ? null : (
        <button type="button" className="pt-button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What `of` holds, or why it holds nothing yet.  Old data stay, dimmed, while newer ones are asked for. */
export function Loaded<T>({ of, lines, children }: { of: Data<T>; lines?: number; children: (data: T) => ReactNode }) {
  const { data, error, loading, reload } = of;
  if (data === null) {
    return error === null ? <Loading {...(lines === undefined ? {} : { lines })} /> : <Failure error={error} retry={reload} />;
  }
  return (
    <div className={loading ? "pt-loaded pt-stale" : "pt-loaded"} aria-busy={loading}>
      {error === null ? null : <Failure error={error} retry={reload} />}
      {children(data)}
    </div>
  );
}
