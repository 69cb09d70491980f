// Runs a module that compile.mjs has made: fibers by promises, lines of the source, and the little of
// an operating system that the C library asks for.

// The device's own functions are not where a kernel's access is. (cpu_device/symbols.cpp)
const OF_THE_DEVICE = /(^|\/)(cpu_device|kernels\/ptx|c\+\+|lab\/include)\//;

class Exit {
  constructor(code) {
    this.code = code;
  }
}

// What a fiber throws at its end: where to go on.
class Ended {
  constructor(to, stackTop, entry) {
    Object.assign(this, { to, stackTop, entry });
  }
}

// What a fiber throws that nobody will continue: that frees its stack, too.
class Abandoned {}

// A trap's words, as cpu_device/signals.cpp says them.
function causeOf(error) {
  if (/divide by zero|remainder by zero/.test(error.message)) return "divides an integer by zero";
  if (/unreachable/.test(error.message)) return "reaches what the compiler takes for impossible";
  if (/out of bounds/.test(error.message)) return "accesses an address that no memory has";
  return error.message;
}

// Runs main() with these arguments: {code, out, error, file}. `textOf(file)` is a source file's text;
// `file` what it has written into a file, whatever its name.
export async function run({ module, chains }, args, textOf) {
  let memory;
  let out = "";
  let error = "";
  let file = "";
  let stackPointer;
  let enter;
  let instance;
  let finish;
  const ended = new Promise((resolve) => (finish = resolve));
  const view = () => new DataView(memory.buffer);
  const bytes = (at, count) => new Uint8Array(memory.buffer, at, count);
  const string = (at) => {
    const all = new Uint8Array(memory.buffer);
    return new TextDecoder().decode(all.slice(at, all.indexOf(0, at)));
  };
  const put = (text, at, room) => {
    const encoded = new TextEncoder().encode(text).subarray(0, room - 1);
    bytes(at, encoded.length).set(encoded);
    view().setUint8(at + encoded.length, 0);
  };

  // A fiber that waits: what continues it. Exactly one of all runs at a time.
  const waiting = new Map();
  const failed = (reason) => {
    if (reason instanceof Abandoned) return;
    if (reason instanceof Ended) return continueOrBegin(reason);
    if (reason instanceof Exit) return finish({ code: reason.code });
    if (!(reason instanceof WebAssembly.RuntimeError) && !(reason instanceof RangeError)) return finish({ error: reason.message });
    const cause = causeOf(reason);
    stackPointer.value = faultStack;
    put(cause, faultText, 256);
    const home = instance.exports.lab_fault(faultText);
    if (home === 0) return finish({ error: cause });
    continueFiber(home);
  };
  const continueFiber = (fiber) => {
    const { resume } = waiting.get(fiber);
    waiting.delete(fiber);
    resume();
  };
  const continueOrBegin = ({ to, stackTop, entry }) => {
    if (entry === 0) return continueFiber(to);
    enter(stackTop, entry).catch(failed);
  };
  const switchFiber = (from, to, stackTop, entry, fromIsDone) => {
    const next = new Ended(to, stackTop, entry);
    if (fromIsDone) throw next; // which frees its stack
    const before = stackPointer.value;
    return new Promise((resolve, abandon) => {
      const resume = () => {
        stackPointer.value = before;
        resolve();
      };
      waiting.set(from, { resume, abandon });
      queueMicrotask(() => continueOrBegin(next)); // from here it would run on top of this one
    });
  };

  const lineOf = (number) => {
    const chain = chains[number] ?? [];
    return chain.find(([file]) => !OF_THE_DEVICE.test(file)) ?? ["", 0];
  };
  const lab = {
    switch_fiber: new WebAssembly.Suspending(switchFiber),
    abandon_fibers: () => {
      for (const { abandon } of waiting.values()) abandon(new Abandoned());
      waiting.clear();
    },
    end: (message) => {
      throw new Error(string(message));
    },
    source_line: (number, file, room) => {
      const [name, line] = lineOf(number);
      put(name, file, room);
      return line;
    },
    source_text: (file, line, text, room) => put(((textOf(string(file)) ?? "").split("\n")[line - 1] ?? "").trim(), text, room),
  };

  const argv = ["lab", ...args].map((text) => new TextEncoder().encode(text + "\0"));
  const BAD_DESCRIPTOR = 8;
  const FOLDER = 3;
  const FILE = 4;
  const wasi = {
    args_sizes_get: (count, size) => {
      view().setUint32(count, argv.length, true);
      view().setUint32(size, argv.reduce((sum, arg) => sum + arg.length, 0), true);
      return 0;
    },
    args_get: (pointers, at) => {
      for (const [i, arg] of argv.entries()) {
        view().setUint32(pointers + 4 * i, at, true);
        bytes(at, arg.length).set(arg);
        at += arg.length;
      }
      return 0;
    },
    environ_sizes_get: (count, size) => {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    clock_time_get: (clock, precision, at) => {
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    fd_write: (descriptor, vectors, count, written) => {
      let text = "";
      let sum = 0;
      for (let i = 0; i < count; ++i) {
        const size = view().getUint32(vectors + 8 * i + 4, true);
        text += new TextDecoder().decode(bytes(view().getUint32(vectors + 8 * i, true), size).slice());
        sum += size;
      }
      if (descriptor === 1) out += text;
      else if (descriptor === FILE) file += text;
      else error += text;
      view().setUint32(written, sum, true);
      return 0;
    },
    proc_exit: (code) => {
      throw new Exit(code);
    },
    // One folder, in which any file can be opened.
    fd_prestat_get: (descriptor, at) => {
      if (descriptor !== FOLDER) return BAD_DESCRIPTOR;
      bytes(at, 4).fill(0); // "a folder"
      view().setUint32(at + 4, 1, true);
      return 0;
    },
    fd_prestat_dir_name: (descriptor, at) => {
      view().setUint8(at, "/".charCodeAt(0));
      return 0;
    },
    fd_fdstat_get: (descriptor, at) => {
      if (descriptor !== FOLDER && descriptor !== FILE) return BAD_DESCRIPTOR;
      bytes(at, 24).fill(0xff); // it has all rights
      view().setUint8(at, descriptor === FOLDER ? 3 : 4);
      return 0;
    },
    path_open: (...operands) => {
      view().setUint32(operands.at(-1), FILE, true);
      return 0;
    },
    fd_close: () => 0,
  };
  // The rest there is not.
  const orNone = new Proxy(wasi, { get: (all, name) => all[name] ?? (() => BAD_DESCRIPTOR) });
  const compiled = await WebAssembly.compile(module);
  const imports = { lab, wasi_snapshot_preview1: {} };
  for (const { module: from, name } of WebAssembly.Module.imports(compiled))
    if (from === "wasi_snapshot_preview1") imports[from][name] = orNone[name];
  instance = await WebAssembly.instantiate(compiled, imports);
  memory = instance.exports.memory;
  stackPointer = instance.exports.__stack_pointer;
  enter = WebAssembly.promising(instance.exports.lab_enter);
  const FAULT_STACK = 65536;
  const faultText = instance.exports.malloc(256 + FAULT_STACK);
  const faultStack = (faultText + 256 + FAULT_STACK) & ~15;
  WebAssembly.promising(instance.exports.lab_main)().then((code) => finish({ code }), failed);
  const end = await ended;
  return { code: end.code ?? 1, out, file, error: error + (end.error ?? "") };
}
