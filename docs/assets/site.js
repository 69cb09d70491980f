// What the theme makes with a script: what scrolls can be reached with the keyboard, and the bar with
// the button of each block of code is no landmark.
"use strict";
const mend = () => {
  for (const bar of document.querySelectorAll(".md-code__nav:not([role])")) bar.setAttribute("role", "presentation");
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, pre > code"))
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
};
new MutationObserver(mend).observe(document.querySelector("article"), { childList: true, subtree: true });
addEventListener("resize", mend);
mend();

// The stepper inside a page: it is loaded when it is opened, by a reader or by an address with its state.
const here = document.querySelector(".stepper-here"), assets = new URL(".", document.currentScript.src);
if (here !== null) {
  here.addEventListener("toggle", () => {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("stepper.css", assets) });
    const script = Object.assign(document.createElement("script"), { src: new URL("stepper.js", assets) });
    document.head.append(style, script);
  }, { once: true });
  if (new URLSearchParams(location.search).has("stage")) {
    here.open = true;
    here.scrollIntoView();
  }
}
