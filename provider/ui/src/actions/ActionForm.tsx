import { useState } from "react";

import type { Action, Parameter } from "../api/types";
import type { Texts } from "./arguments";

/** The parameters of an action.  What is wrong is told after the first try. */
export function ActionForm({ action, texts, wrong, busy, change, preview }: {
  action: Action;
  texts: Texts;
  wrong: Record<string, string>;
  busy: boolean;
  change: (name: string, text: string) => void;
  preview: () => void;
}) {
  const [tried, setTried] = useState(false);
  return (
    <form
      className="pt-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (Object.keys(wrong).length === 0 && !busy) {
          preview();
        }
      }}
    >
      {action.parameters.length === 0 ? <p className="pt-muted">This action has no parameters.</p> : null}
      {action.parameters.map((parameter) => (
        <Input
          key={parameter.name}
          parameter={parameter}
          text={texts[parameter.name] ?? ""}
          wrong={tried ? wrong[parameter.name] : undefined}
          change={(text) => change(parameter.name, text)}
        />
      ))}
      <div className="pt-toolbar">
        <button type="submit" className="pt-button pt-button--main" disabled={busy}>
          Preview (dry run)
        </button>
      </div>
    </form>
  );
}

const YES_NO: (readonly [string, string])[] = [
  ["true", "yes"],
  ["false", "no"],
];

function Input({ parameter, text, wrong, change }: {
  parameter: Parameter;
  text: string;
  wrong: string | undefined;
  change: (text: string) => void;
}) {
  const id = `pt-parameter-${parameter.name}`;
  const hint = `${id}-does`;
  const choices: (readonly [string, string])[] =
    parameter.type === "boolean" ? YES_NO : (parameter.choices ?? []).map((choice) => [choice, choice] as const);
  return (
    <div className="pt-form-line">
      <label htmlFor={id}>
        {parameter.name.replaceAll("_", " ")}
        {parameter.required ? <span className="pt-muted"> (needed)</span> : null}
      </label>
      {choices.length > 0 ? (
        <select id={id} value={text} aria-describedby={hint} aria-invalid={wrong !== undefined} onChange={(event) => change(event.target.value)}>
          <option value="">{parameter.required ? "choose" : "default"}</option>
          {choices.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type={parameter.type === "datetime" ? "datetime-local" : "text"}
          inputMode={parameter.type === "integer" ? "numeric" : "text"}
          step={parameter.type === "datetime" ? 1 : undefined}
          value={text}
          aria-describedby={hint}
          aria-invalid={wrong !== undefined}
          onChange={(event) => change(event.target.value)}
        />
      )}
      <span id={hint} className={wrong === undefined ? "pt-muted" : "pt-wrong"}>
        {wrong ?? parameter.does ?? ""}
      </span>
    </div>
  );
}
