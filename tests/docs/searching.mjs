// Asks the site's own search, which is a script that a browser runs beside the page: node searching.mjs SITE QUERY...
// Prints for each query the pages that it finds, best first.
import fs from "node:fs";

const [site, ...queries] = process.argv.slice(2);
const index = JSON.parse(fs.readFileSync(`${site}/search/search_index.json`, "utf8"));
const folder = `${site}/assets/javascripts/workers`;
const script = fs.readdirSync(folder).find((name) => /^search\..*\.js$/.test(name));

let hear;
let answer;
Object.assign(globalThis, {
  self: globalThis,
  addEventListener: (_, listener) => { hear = listener; },
  postMessage: (message) => answer(message),
  importScripts: () => {},
  location: { href: "http://site/assets/javascripts/workers/search.js" },
});
(0, eval)(fs.readFileSync(`${folder}/${script}`, "utf8"));

const asked = (type, data) => new Promise((resolve) => { answer = resolve; hear({ data: { type, data } }); });
await asked(0, { config: index.config, docs: index.docs, options: { suggest: false } });
const found = {};
for (const query of queries) {
  const { data } = await asked(2, query);
  found[query] = data.items.map(([best]) => best.location.split("#")[0]);
}
console.log(JSON.stringify(found));
