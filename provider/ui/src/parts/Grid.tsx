import type { ReactNode } from "react";

import { nextSort } from "../state/query";

export interface Column<T> {
  key: string;
  head: string;
  cell: (row: T) => ReactNode;
  number?: boolean;
  /** The name that the server sorts by; a column without one cannot be sorted. */
  sort?: string;
  shy?: boolean;
}

/** A table with heads that sort.  It scrolls inside itself when the window is narrow. */
export function Grid<T>({ rows, columns, label, rowKey, sort = "", onSort, rowClass }: {
  rows: readonly T[];
  columns: readonly Column<T>[];
  label: string;
  rowKey: (row: T, index: number) => string | number;
  sort?: string;
  onSort?: (sort: string) => void;
  rowClass?: (row: T) => string | undefined;
}) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
    <div className="pt-grid-box" role="region" aria-label={label} tabIndex={0}>
      <table className="pt-grid">
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={rowKey(row, i)} className={rowClass?.(row)}>
              {columns.map((column) => (
                <td key={column.key} className={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<T>({ column, sort, onSort }: {
  column: Column<T>;
  sort: string;
  onSort: ((sort: string) => void) | undefined;
}) {
  const name = column.sort;
  if (name === undefined || onSort === undefined) {
    return (
      <th scope="col" className={classes(column)}>
        {column.head}
      </th>
    );
  }
  const direction = sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none";
  return (
    <th scope="col" className={classes(column)} aria-sort={direction}>
      <button type="button" className="pt-sort" onClick={() => onSort(nextSort(sort, name, column.number ?? false))}>
        {column.head}
        <svg viewBox="0 0 10 12" width="8" height="10" aria-hidden="true">
          <path d="M5 0 9 5H1z" className={direction === "ascending" ? "pt-sort-on" : "pt-sort-off"} />
          <path d="M5 12 1 7h8z" className={direction === "descending" ? "pt-sort-on" : "pt-sort-off"} />
        </svg>
      </button>
    </th>
  );
}

function classes<T>(column: Column<T>): string | undefined {
  const found = [column.number ? "pt-number" : "", column.shy ? "pt-shy" : ""].filter(Boolean).join(" ");
  return found === "" ? undefined : found;
}

export function Pager({ offset, limit, total, go }: {
  offset: number;
  limit: number;
  total: number;
  go: (offset: number) => void;
}) {
  if (total <= limit && offset === 0) {
    return null;
  }
  const last = Math.min(offset + limit, total);
  return (
    <nav className="pt-pager" aria-label="Pages">
      <button type="button" className="pt-button" disabled={offset === 0} onClick={() => go(Math.max(0, offset - limit))}>
        Previous
      </button>
      <span>
        {(total === 0 ? 0 : offset + 1).toLocaleString("en-US")}–{last.toLocaleString("en-US")} of {total.toLocaleString("en-US")}
      </span>
      <button type="button" className="pt-button" disabled={last >= total} onClick={() => go(offset + limit)}>
        Next
      </button>
    </nav>
  );
}
