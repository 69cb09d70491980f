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
