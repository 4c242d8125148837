import type { TableDocument } from "../api/types";
import { Card, Copy } from "../parts/bits";

/** The same rows from a notebook, from SQL and from Spark. */
export function ReadTab({ table }: { table: TableDocument }) {
  const ways = [
    ["Python", table.read_it.python],
    ["SQL", table.read_it.sql],
    ["Spark", table.read_it.spark],
  ] as const;
  return (
    <div className="pt-ways">
      {ways.map(([name, code]) => (
        <Card key={name} title={name} note={<Copy text={code} what={`the ${name} code`} />} wide>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard */}
          <pre className="pt-code" tabIndex={0}>
            <code>{code}</code>
          </pre>
        </Card>
      ))}
    </div>
  );
}
