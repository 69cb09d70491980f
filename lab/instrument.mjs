// Numbers the calls that the compiler has put before loads, stores and basic blocks, in LLVM's text.
// WebAssembly has no return addresses by which the CPU device could tell them apart, so each call
// passes its number; the debug information of the same text says which line it is.

const CALL = /^(\s*(?:tail )?call void @(?:__tsan_(?:unaligned_)?(?:read|write)(?:\d+|_range)|__sanitizer_cov_trace_pc)\()(.*)\)(.*), !dbg !(\d+)$/;
const UNPLACED = /^\s*(?:tail )?call void @(?:__tsan_(?:unaligned_)?(?:read|write)(?:\d+|_range)|__sanitizer_cov_trace_pc)\(/;
const DECLARATION = /^declare void @(?:__tsan_(?:unaligned_)?(?:read|write)(?:\d+|_range)|__sanitizer_cov_trace_pc)\((.*)\)/;
const SHARED = /^@(_ZZ\S+) = .*thread_local.* global (\[.*\]|\S+) (?:zeroinitializer|undef|poison)[, ]/;

// Of a solution of an exercise a variable that lives as long as the program.
const STATE = /^@_ZN\w*7kernelsL?\d+([A-Za-z_]\w*)E = (?!.*\bthread_local\b).*\bglobal /;

// "sA" of "_ZZN6ladder10smem_tiledL6kernelENS_4GemmIffEEE2sA", or of the same with "_0" behind it.
function nameOfLocal(mangled) {
  for (const { 0: before, 1: length, index } of mangled.matchAll(/E(\d+)(?=[A-Za-z_])/g)) {
    const begin = index + before.length;
    const end = begin + Number(length);
    if (/^(?:_\d*_?)?(?:\.\d+)?$/.test(mangled.slice(end))) return mangled.slice(begin, end);
  }
  return mangled;
}

// A float4 or float2 that is copied is one load, as for ptxas and for g++. Clang loads its parts, each
// where it is used: the first at a multiple of all their bytes, the others behind it in the same basic
// block. Of such loads the first has the call of one load, and the others none.
function withWholeLoads(lines) {
  const result = [...lines];
  const places = new Map(); // of pointers: from which other, and how many bytes behind it
  const placeOf = (pointer) => places.get(pointer) ?? [pointer, 0];
  const notePlace = (line) => {
    const [, pointer, from, bytes] = /^ *(%\w+) = getelementptr .*i8, ptr (%\w+), i32 (\d+)/.exec(line) ?? [];
    if (pointer !== undefined) places.set(pointer, [placeOf(from)[0], placeOf(from)[1] + Number(bytes)]);
  };
  const readBy = (line) => /call void @__tsan_read4\(ptr (%\w+)\)/.exec(line)?.[1];
  lines.forEach((line, i) => {
    if (line === "}") places.clear(); // names are a function's
    notePlace(line);
    const base = readBy(line);
    const bytes = Number(/ = load \w+, ptr %\w+, align (8|16)\b/.exec(lines[i + 1])?.[1]);
    if (base === undefined || Number.isNaN(bytes) || result[i] !== line) return;
    const [root, first] = placeOf(base);
    const calls = new Map([[0, i]]); // by how far behind the base they read: their lines
    for (let j = i + 1; !/^(?:\d+:.*)?$/.test(lines[j]) && !/ call (?!.*@(?:__tsan_read|__sanitizer|llvm\.))/.test(lines[j]); ++j) {
      notePlace(lines[j]);
      const read = readBy(lines[j]);
      if (read === undefined || placeOf(read)[0] !== root) continue;
      const distance = placeOf(read)[1] - first;
      if (distance > 0 && distance < bytes && !calls.has(distance)) calls.set(distance, j);
    }
    if (calls.size !== bytes / 4) return;
    calls.forEach((at) => (result[at] = "; a part"));
    result[i] = line.replace("read4", `read${bytes}`);
  });
  return result;
}

// Of a __shared__ array of rows: bytes from a row to the next and of an element, as LLVM writes its type.
const BYTES = { float: 4, double: 8, half: 2, i8: 1, i16: 2, i32: 4, i64: 8, "%struct.half": 2, "%struct.__half": 2 };
function rowsOf(name, type) {
  const lengths = [...type.matchAll(/\[(\d+) x /g)].map(([, length]) => Number(length));
  const element = BYTES[type.replace(/\[\d+ x |\]/g, "")];
  if (lengths.length < 2 || element === undefined) return [];
  return [{ name, bytes: lengths.reduce((all, length) => all * length, element), pitch: lengths.at(-1) * element, element }];
}

// {text, chains, state, shared}: the text with numbers from 1 on; for each number its line and those that
// it is inlined into, innermost first, as [file, line]; variables that outlive a launch; arrays of rows.
export function instrument(text) {
  const lines = withWholeLoads(text.split("\n"));
  for (const bytes of [8, 16]) if (!text.includes(`declare void @__tsan_read${bytes}(`)) lines.push(`declare void @__tsan_read${bytes}(ptr)`);
  const metadata = new Map();
  for (const line of lines) {
    const found = /^!(\d+) = (.*)$/.exec(line);
    if (found !== null) metadata.set(found[1], found[2]);
  }
  const field = (node, name) => new RegExp(`\\b${name}: (?:"([^"]*)"|!?([^,)]*))`).exec(node)?.slice(1).find((x) => x !== undefined);
  const fileOf = (id) => {
    for (let scope = id; scope !== undefined; ) {
      const node = metadata.get(scope) ?? "";
      const file = field(node, "file");
      if (file !== undefined) return field(metadata.get(file) ?? "", "filename");
      scope = field(node, "scope");
    }
    return "";
  };
  const known = new Map();
  const chainOf = (id) => {
    if (known.has(id)) return known.get(id);
    const chain = [];
    for (let at = id; at !== undefined; ) {
      const node = metadata.get(at);
      chain.push([fileOf(field(node, "scope")), Number(field(node, "line"))]);
      at = field(node, "inlinedAt");
    }
    known.set(id, chain);
    return chain;
  };

  // An access that the compiler has moved out of a loop has line 0. Then it is that of what comes
  // behind it in its basic block: the loop.
  const placed = (from) => {
    for (let i = from; lines[i] !== ""; ++i) {
      const found = /, !dbg !(\d+)$/.exec(lines[i]);
      if (found !== null && chainOf(found[1])[0][1] > 0) return chainOf(found[1]);
    }
    return [];
  };

  const chains = [[]];
  const state = lines.flatMap((line) => STATE.exec(line)?.[1] ?? []);
  const arrays = [];
  const number = () => `i32 ${chains.length - 1}`;
  const result = lines.map((line, i) => {
    const call = CALL.exec(line);
    if (call !== null) {
      chains.push(placed(i));
      return `${call[1]}${call[2]}${call[2] && ", "}${number()})${call[3]}, !dbg !${call[4]}`;
    }
    if (UNPLACED.test(line)) {
      chains.push([]);
      return line.replace(/\(([^()]*)\)/, (_, operands) => `(${operands}${operands && ", "}${number()})`);
    }
    if (DECLARATION.test(line)) return line.replace(/\((.*?)\)/, (_, types) => `(${types}${types && ", "}i32)`);
    const shared = SHARED.exec(line);
    if (shared !== null) arrays.push(shared.slice(1));
    return line;
  });
  const entry = "{ ptr, i32, ptr }";
  arrays.forEach(([name], i) => {
    const text = nameOfLocal(name);
    result.push(`@lab_name_${i} = private constant [${text.length + 1} x i8] c"${text}\\00"`);
  });
  const entries = arrays.map(([name, type], i) => `${entry} { ptr @${name}, i32 ptrtoint (ptr getelementptr (${type}, ptr null, i32 1) to i32), ptr @lab_name_${i} }`);
  result.push(`@lab_shared_arrays = constant [${arrays.length} x ${entry}] [${entries.join(", ")}]`);
  result.push(`@lab_shared_array_count = constant i32 ${arrays.length}`);
  // A worker is one thread; addresses of thread-local variables are constants only without the word.
  return { text: result.join("\n").replace(/ thread_local(\(\w+\))?/g, "").replace(/(?:tail )?call (?:nonnull |align \d+ |noundef )*ptr @llvm\.threadlocal\.address\.p0\(ptr (?:nonnull |align \d+ |noundef )*(@[\w.$]+)\)/g, "getelementptr i8, ptr $1, i32 0"), chains, state, shared: arrays.flatMap(([name, type]) => rowsOf(nameOfLocal(name), type)) };
}
