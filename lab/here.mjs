// What a page's parts have in common: controls, the progress of a run, and messages.
import { stop } from "./client.mjs";
import { words } from "./words.mjs";

// An element. `properties` are set as they are called in a script; `children` are elements or texts.
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export async function data(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.json();
}

const DOING = { loading: words("loading the compiler, once"), starting: words("starting the compiler"), compiling: words("compiling"), running: words("running") };

// A button that has something done, and one that ends it, as a bar for the page. `act` is called with
// what client.mjs calls for progress, and its result handed on to `show`; a text is a mistake of the
// reader's.
export function runner(name, act, show) {
  const begin = make("button", { className: "md-button md-button--primary", textContent: name });
  const end = make("button", { className: "md-button", textContent: words("Stop"), hidden: true });
  const progress = make("progress", { hidden: true, max: 1 });
  const status = make("output");
  const isRunning = (yes) => {
    begin.disabled = yes;
    end.hidden = progress.hidden = !yes;
  };
  progress.setAttribute("aria-label", words("progress"));
  end.addEventListener("click", stop);
  begin.addEventListener("click", async () => {
    isRunning(true);
    status.value = "";
    let result;
    try {
      result = await act(({ doing, share }) => {
        status.value = DOING[doing];
        if (share === undefined) progress.removeAttribute("value");
        else progress.value = share;
      });
      status.value = typeof result === "string" ? result : "";
    } catch (error) {
      status.value = error.message;
    }
    isRunning(false);
    begin.focus();
    if (typeof result === "object") show(result);
  });
  return make("div", { className: "lab-bar" }, begin, end, progress, status);
}
