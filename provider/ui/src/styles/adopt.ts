import base from "./base.css?inline";
import charts from "./charts.css?inline";
import pages from "./pages.css?inline";

/** Add our rules to the page.  A constructed sheet needs no `unsafe-inline` of a content security policy. */
export function adopt(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`${base}\n${pages}\n${charts}`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
