import { useState } from "react";

/** The numbers behind a chart, for those who cannot see it; nothing is laid out before it is opened. */
export function Numbers({ label, title, rows }: {
  label: string;
  title: string;
  rows: () => readonly (readonly [label: string, value: string])[];
}) {
  const [open, setOpen] = useState(false);
  return (
    <details className="pt-numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {open ? (
        <table className="pt-grid">
          <thead>
            <tr>
              <th scope="col">{label}</th>
              <th scope="col" className="pt-number">
                {title}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows().map(([of, value], i) => (
              <tr key={`${of} ${i}`}>
                <td>{of}</td>
                <td className="pt-number">{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </details>
  );
}
