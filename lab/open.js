// The parts of a page that need the lab: each is loaded when it is opened. No module: where the page
// is opened from disk, its first line stays, which says what to do.
"use strict";
const lab = new URL(".", document.currentScript.src);
for (const part of document.querySelectorAll("details.lab"))
  part.addEventListener("toggle", async () => {
    if (location.protocol === "file:") return;
    const place = part.querySelector("div");
    if (WebAssembly.Suspending === undefined) {
      place.textContent = "This browser cannot run kernels: it lacks JSPI, which Chromium has.";
      return;
    }
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("lab.css", lab) }));
    if (part.dataset.stage !== undefined) (await import(new URL("stage.mjs", lab))).stagePart(place, part.dataset.stage);
    else (await import(new URL("exercise.mjs", lab))).exercisePart(place, part.dataset.exercise);
  }, { once: true });
