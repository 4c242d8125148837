import type { Parameter } from "../api/types";

/** Texts of a form to the arguments of an action.  Pure. */

export type Texts = Record<string, string>;
export type Arguments = Record<string, string | number | boolean>;

export interface Checked {
  arguments: Arguments;
  /** What is wrong, by the name of the parameter. */
  wrong: Record<string, string>;
}

export function checked(parameters: readonly Parameter[], texts: Texts): Checked {
  const found: Arguments = {};
  const wrong: Record<string, string> = {};
  for (const parameter of parameters) {
    const text = (texts[parameter.name] ?? "").trim();
    if (text === "") {
      if (parameter.required) {
        wrong[parameter.name] = "This is needed.";
      }
      continue;
    }
    switch (parameter.type) {
      case "integer":
        if (/^-?\d{1,15}$/.test(text)) {
          found[parameter.name] = Number(text);
        } else {
          wrong[parameter.name] = "This is a whole number.";
        }
        break;
      case "boolean":
        found[parameter.name] = text === "true";
        break;
      case "datetime": {
        const at = Date.parse(text.endsWith("Z") ? text : `${text}Z`);
        if (Number.isNaN(at)) {
          wrong[parameter.name] = "This is a date and a time, in UTC.";
        } else {
          found[parameter.name] = new Date(at).toISOString().replace(".000Z", "Z");
        }
        break;
      }
      case "string":
        found[parameter.name] = text;
        break;
    }
  }
  return { arguments: found, wrong };
}
