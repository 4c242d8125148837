import { useState } from "react";

import type { OptionLine, Options } from "../api/types";
import { useData } from "../api/useData";
import { Grid, type Column } from "../parts/Grid";
import { Card, Chip } from "../parts/bits";
import { Empty, Loaded } from "../parts/states";
import { plural } from "../text/format";

/** What is set, what the others are by default, and what each one does. */
export function OptionsTab({ uri }: { uri: string }) {
  const options = useData<Options>("table/options", { uri });
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  return (
    <Loaded of={options}>
      {(data) => {
        const set = data.options.filter((o) => o.set).length;
        const shown = data.options.filter((o) => (all || o.set) && fits(o, text));
        return (
          <Card title="Options" note={`${plural(set, "option")} set of ${data.options.length}`} wide>
            <div className="pt-toolbar">
              <label className="pt-field pt-field--search">
                <span>Search</span>
                <input type="search" value={text} placeholder="Key or what it does" onChange={(event) => setText(event.target.value)} />
              </label>
              <div className="pt-segments" role="group" aria-label="Which options">
                <button type="button" aria-pressed={!all} onClick={() => setAll(false)}>
                  Set
                </button>
                <button type="button" aria-pressed={all} onClick={() => setAll(true)}>
                  All
                </button>
              </div>
            </div>
            {shown.length === 0 ? (
              <Empty title={all || text !== "" ? "No option fits" : "No option is set: all have their defaults"} />
            ) : (
              <Grid rows={shown} columns={COLUMNS} label="Options" rowKey={(o) => o.key} />
            )}
          </Card>
        );
      }}
    </Loaded>
  );
}

export function fits(option: OptionLine, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return wanted === "" || option.key.toLowerCase().includes(wanted) || (option.does ?? "").toLowerCase().includes(wanted);
}

const COLUMNS: Column<OptionLine>[] = [
  {
    key: "key",
    head: "Option",
    cell: (o) => (
      <span className="pt-inline">
        <code>{o.key}</code>
        {o.set ? <Chip tone="info">set</Chip> : null}
      </span>
    ),
  },
  { key: "value", head: "Value", cell: (o) => (o.value === null ? <span className="pt-muted">–</span> : <code>{o.value}</code>) },
  { key: "default", head: "Default", cell: (o) => <span className="pt-muted">{o.default ?? "none"}</span> },
  { key: "does", head: "What it does", cell: (o) => o.does ?? "" },
];
