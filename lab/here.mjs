// What a page's parts have in common: controls, the progress of a run, and messages.
import { ask, stop } from "./client.mjs";

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

const DOING = { loading: "loading the compiler (once, 38 MB)", starting: "starting the compiler", compiling: "compiling", running: "running" };

// A button that asks the worker, and one that stops it: {bar, run}. `bar` is for the page. run() is
// what the button does: it asks with what `question` returns, and hands the answer on.
export function runner(name, question, show) {
  const begin = make("button", { className: "md-button md-button--primary", textContent: name });
  const end = make("button", { className: "md-button", textContent: "Stop", hidden: true });
  const progress = make("progress", { hidden: true, max: 1 });
  const status = make("output");
  const bar = make("div", { className: "lab-bar" }, begin, end, progress, status);
  const isRunning = (yes) => {
    begin.disabled = yes;
    end.hidden = progress.hidden = !yes;
  };
  progress.setAttribute("aria-label", "progress");
  end.addEventListener("click", stop);
  begin.addEventListener("click", async () => {
    const asked = question();
    if (typeof asked === "string") {
      status.value = asked;
      return;
    }
    isRunning(true);
    const answer = await ask(asked, ({ doing, share }) => {
      status.value = DOING[doing];
      if (share === undefined) progress.removeAttribute("value");
      else progress.value = share;
    });
    isRunning(false);
    status.value = "";
    begin.focus();
    await show(answer);
  });
  return bar;
}
