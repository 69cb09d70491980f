// The page's side of worker.mjs. One worker for a page; it is started by what is asked first.
let worker = null;
let waiting = null;

function answer(result) {
  const resolve = waiting;
  waiting = null;
  resolve(result);
}

function end() {
  worker?.terminate();
  worker = null;
}

const started = () => (worker ??= new Worker(new URL("worker.mjs", import.meta.url), { type: "module" }));

// Makes the compiler ready for what will be asked, {kind} and perhaps a program that is kept, where
// the browser has it in its cache.
export function prepare(message) {
  started().postMessage(message);
}

// What the worker answers. `onProgress` is called with {doing, share}: what it does, and how much of
// it is done, from 0 to 1, where that is known. After an error the next question has a new worker.
export function ask(message, onProgress) {
  const failed = (error) => {
    end();
    answer({ error });
  };
  started().onmessage = ({ data }) => {
    if (data.doing !== undefined) onProgress(data);
    else if (data.error !== undefined) failed(data.error);
    else answer(data);
  };
  worker.onerror = (event) => failed(event.message || "the worker could not be started");
  worker.postMessage(message);
  return new Promise((resolve) => (waiting = resolve));
}

// Ends what runs, with the compiler: the next question loads it again.
export function stop() {
  end();
  if (waiting !== null) answer({ stopped: true });
}
