// A drawing of measured points: says which one is nearest to the pointer, and hides kinds of them. Without a
// script it is the drawing, with the browser's own hints.
"use strict";
for (const drawing of document.querySelectorAll(".drawing:has([data-kind])")) {
  const REACH = 12;  // units of the drawing
  const svg = drawing.querySelector("svg"), said = document.createElement("output");
  const kinds = [...svg.querySelectorAll("[data-kind]")];
  const still = document.documentElement.lang === "zh" ? "指向一个点, 看它是什么。" : "Point at a dot to see what it is.";
  let near = null;

  const nearest = event => {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const distance = dot => Math.hypot(dot.cx.baseVal.value - x, dot.cy.baseVal.value - y);
    const shown = kinds.filter(kind => kind.style.display === "").flatMap(kind => [...kind.children]);
    const best = shown.reduce((a, b) => a !== null && distance(a) <= distance(b) ? a : b, null);
    return best !== null && distance(best) <= REACH ? best : null;
  };
  const look = event => {
    near?.classList.remove("near");
    near = nearest(event);
    near?.classList.add("near");
    said.textContent = near?.textContent ?? still;
  };

  const filter = document.createElement("p");
  for (const kind of kinds) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    box.addEventListener("change", () => { kind.style.display = box.checked ? "" : "none"; });
    const label = document.createElement("label");
    label.append(box, ` ${kind.dataset.kind} (${kind.children.length})`);
    filter.append(label);
  }
  said.textContent = still;
  svg.addEventListener("pointermove", look);
  svg.addEventListener("pointerdown", look);
  drawing.append(said, filter);
}
