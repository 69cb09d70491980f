// The page's side of worker.mjs. One worker for a page; it is started by what is asked first.
let worker = null;
let waiting = null;

function answer(result) {
  const resolve = waiting;
  waiting = null;
  resolve(result);
}

// What the worker answers. `onProgress` is called with {doing, share}: what it does, and how much of
// it is done, from 0 to 1, where that is known.
export function ask(message, onProgress) {
  worker ??= new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => (data.doing === undefined ? answer(data) : onProgress(data));
  worker.onerror = (error) => answer({ error: error.message || "the worker could not be started" });
  worker.postMessage(message);
  return new Promise((resolve) => (waiting = resolve));
}

// Ends what runs, with the compiler: the next question loads it again.
export function stop() {
  worker?.terminate();
  worker = null;
  if (waiting !== null) answer({ stopped: true });
}
