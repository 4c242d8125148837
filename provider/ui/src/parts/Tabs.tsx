import { useRef, type KeyboardEvent } from "react";

import { TABS, type Tab } from "../state/query";

/** The tabs of a table: arrows, Home and End move between them, as the pattern of tabs asks. */
export function Tabs({ tab, go, marks }: { tab: Tab; go: (tab: Tab) => void; marks: Partial<Record<Tab, string>> }) {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = TABS.findIndex(([code]) => code === tab);
    const to = moved(event.key, at, TABS.length);
    const chosen = to === null ? undefined : TABS[to];
    if (to === null || chosen === undefined) {
      return;
    }
    event.preventDefault();
    go(chosen[0]);
    list.current?.querySelectorAll<HTMLButtonElement>("[role=tab]")[to]?.focus();
  };
  return (
    <div className="pt-tabs" role="tablist" aria-label="Parts of the table" tabIndex={-1} ref={list} onKeyDown={onKeyDown}>
      {TABS.map(([code, text]) => (
        <button
          key={code}
          type="button"
          role="tab"
          id={`pt-tab-${code}`}
          aria-controls="pt-panel"
          aria-selected={code === tab}
          tabIndex={code === tab ? 0 : -1}
          className="pt-tab"
          onClick={() => go(code)}
        >
          {text}
          {marks[code] === undefined ? null : <span className="pt-tab-mark">{marks[code]}</span>}
        </button>
      ))}
    </div>
  );
}

function moved(key: string, at: number, of: number): number | null {
  switch (key) {
    case "ArrowRight":
      return (at + 1) % of;
    case "ArrowLeft":
      return (at + of - 1) % of;
    case "Home":
      return 0;
    case "End":
      return of - 1;
    default:
      return null;
  }
}
