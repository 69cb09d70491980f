// Which exercises are done, in the sidebar of the page.
import { progressOf } from "./progress.mjs";
import { words } from "./words.mjs";

export function markDone() {
  for (const link of document.querySelectorAll("a.md-nav__link")) {
    const [, name] = /\/exercises\/(\w+)\/README\.md\.html$/.exec(link.pathname) ?? [];
    if (name === undefined || link.querySelector(".lab-done") !== null || !progressOf(name).done) continue;
    link.append(Object.assign(document.createElement("span"), { className: "lab-done", textContent: "✓", title: words("done") }));
  }
}
