import { bytes, count, duration } from "../text/format";

const DEEPEST = 4;
const ITEMS_MAX = 50;

/** A result document as people read it: members and values, sizes and times with their units. */
export function Document({ value, name = "", depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  if (Array.isArray(value)) {
    return <List items={value} name={name} depth={depth} />;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value as Record<string, unknown>).filter(([, v]) => v !== null && !isEmpty(v));
    if (depth >= DEEPEST) {
      return <code>{JSON.stringify(value)}</code>;
    }
    return (
      <dl className="pt-facts pt-facts--wide">
        {members.map(([key, member]) => (
          <div key={key}>
            <dt>{key.replaceAll("_", " ")}</dt>
            <dd>
              <Document value={member} name={key} depth={depth + 1} />
            </dd>
          </div>
        ))}
      </dl>
    );
  }
  return <>{scalar(name, value)}</>;
}

function List({ items, name, depth }: { items: unknown[]; name: string; depth: number }) {
  const shown = items.slice(0, ITEMS_MAX);
  return (
    <ul className="pt-list">
      {shown.map((item, i) => (
        <li key={i}>
          <Document value={item} name={name} depth={depth + 1} />
        </li>
      ))}
      {items.length > ITEMS_MAX ? <li className="pt-muted">and {count(items.length - ITEMS_MAX)} more</li> : null}
    </ul>
  );
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

export function scalar(name: string, value: unknown): string {
  if (typeof value === "number") {
    if (/(^|_)bytes(_|$)/.test(name)) {
      return bytes(value);
    }
    return /(^|_)seconds$/.test(name) ? duration(value) : /(^|_)id$/.test(name) ? String(value) : Number.isInteger(value) ? count(value) : String(value);
  }
  if (typeof value === "boolean") {
    return value ? "yes" : "no";
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}
