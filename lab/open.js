// The parts of a page that need the lab: each is loaded when it is opened. No module: where the page
// is opened from disk, the part's text stays, which says what to do.
"use strict";
const lab = new URL(".", document.currentScript.src);

async function load({ stage, exercise }, place, words) {
  if (WebAssembly.Suspending === undefined) throw new Error(words("this browser lacks JSPI, which Chromium has"));
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("lab.css", lab) }));
  if (stage !== undefined) await (await import(new URL("stage.mjs", lab))).stagePart(place, stage);
  else await (await import(new URL("exercise.mjs", lab))).exercisePart(place, exercise);
}

if (location.protocol !== "file:") import(new URL("sidebar.mjs", lab)).then(({ markDone }) => markDone());
for (const part of document.querySelectorAll("details.lab"))
  part.addEventListener("toggle", async () => {
    if (location.protocol === "file:") return;
    const { words } = await import(new URL("words.mjs", lab));
    const place = part.querySelector("div");
    place.textContent = words("loading");
    load(part.dataset, place, words).catch((error) => (place.textContent = words("Kernels cannot run here: {}", error.message)));
  }, { once: true });
