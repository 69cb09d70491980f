// The stepper: the requests of one warp, as the CPU device recorded them, lane by lane.
//
// docs/assets/traces/ has a file for each stage (written by ./ladder traces). It is loaded by a
// <script> element, because a page that was opened from disk may not fetch files.
"use strict";

// What readers are told, on Chinese pages. {} is what differs.
const STEPPER_IN_CHINESE = {
  "{} sector": "{} 个扇区", "{} sectors": "{} 个扇区", "{} wavefront": "{} 个 wavefront", "{} wavefronts": "{} 个 wavefront",
  "sector {} of {}": "第 {} 个扇区, 共 {} 个", "wavefront {} of {}": "第 {} 个 wavefront, 共 {} 个", "request {} of {}": "第 {} 个请求, 共 {} 个",
  "stage": "级", "variant": "变体", "source line and array": "源代码行和数组", "shared memory": "共享内存",
  "leading dimension, in elements": "前导维, 以元素计", "row pitch, in elements": "行距, 以元素计",
  "layout (of lane, row, col, k)": "布局 (用 lane, row, col, k)", "{}: a whole number from 1 on is needed": "{}: 需要 1 以上的整数",
  "kernels/{}, line {}": "kernels/{}, 第 {} 行", "{}:{} {} {}, {} bytes: {}": "{}:{} {} {}, {} 字节: {}",
  "Play": "播放", "Pause": "暂停", "step back": "上一步", "step forward": "下一步",
  "previous request": "上一个请求", "next request": "下一个请求",
  "As the kernel has it": "与核函数相同", "back to the kernel's layout": "回到核函数的布局", "With your layout": "用你的布局",
  "One request: arrow keys step through it": "一个请求: 用方向键单步执行",
  " for this request; as the kernel has it: {}, the fewest possible: {}. All {} recorded: {}, as the kernel has it: {}.": " (这个请求); 按核函数的布局: {}, 最少可能: {}。记录下的全部 {} 个请求: {}, 按核函数的布局: {}。",
  " Red: the {} beyond the fewest.": " 红色: 超出最少的 {} 个。",
  "{}: lane {}": "{}: lane {}", "{}: idle": "{}: 闲着", "idle": "闲着", "bank {}": "bank {}", "byte {}": "第 {} 字节", "sector {}": "扇区 {}", "to byte {}": "到第 {} 字节",
  "all {}, a row for each": "全部 {}, 每个一行", "all {}, a row of words for each": "全部 {}, 每个一行字",
  "The traces could not be loaded.": "无法加载记录的请求。",
  "the layout divides by 0": "布局除以 0", "the layout shifts by {}": "布局移位 {} 位", "a layout has at most 500 characters": "布局至多 500 个字符",
  "column {}: \"{}\" has no meaning here": "第 {} 列: \"{}\" 在这里没有意义", "{} is too large for a layout": "{} 对布局来说太大",
  "the layout ends where a number, lane, row, col, k or ( was expected": "布局结束了, 而这里应有数、lane、row、col、k 或 (",
  "column {}: a number, lane, row, col, k or ( was expected, not \"{}\"": "第 {} 列: 应有数、lane、row、col、k 或 (, 而不是 \"{}\"",
  "column {}: there is no \"{}\"; there are lane, row, col and k": "第 {} 列: 没有 \"{}\"; 有 lane、row、col 和 k",
  "column {}: this ( is never closed": "第 {} 列: 这个 ( 没有闭合", "column {}: ) was expected, not \"{}\"": "第 {} 列: 应有 ), 而不是 \"{}\"",
  "column {}: an operator was expected, not \"{}\"": "第 {} 列: 应有运算符, 而不是 \"{}\"",
  "lane {}: the layout gives {}, which is before the array": "lane {}: 布局给出 {}, 在数组之前",
  "Lane {} asks for byte {}, which is no multiple of {}: a GPU would stop with a misaligned address.": "lane {} 要第 {} 字节, 不是 {} 的倍数: GPU 会因地址未对齐而停止。",
  "{} and {} have the same address: they would overwrite each other.": "{} 和 {} 的地址相同: 它们会互相覆盖。",
};
const say = (english, ...values) => {
  const words = document.documentElement.lang === "zh" ? STEPPER_IN_CHINESE[english] : english;
  return words.replace(/\{\}/g, () => values.shift());
};

const LadderStepper = (() => {
  const WARP = 32, BANKS = 32, WORD_BYTES = 4, SECTOR_BYTES = 32, LINE_BYTES = 128;
  const LARGEST = 2 ** 31;

  // ---- What a request costs: the rules of cpu_device/cost.cpp.

  // An offset is a number of bytes, or -1 for a lane that takes no part.
  const unitsOf = (offset, bytes, unit) => {
    const units = [];
    const last = Math.floor((offset + bytes - 1) / unit);
    for (let u = Math.floor(offset / unit); u <= last; ++u) units.push(u);
    return units;
  };

  // The sectors that the lanes touch, in the order of their addresses, and their lanes.
  function sectors(offsets, bytes) {
    const touched = new Map();
    offsets.forEach((offset, lane) => {
      if (offset < 0) return;
      for (const sector of unitsOf(offset, bytes, SECTOR_BYTES)) {
        if (!touched.has(sector)) touched.set(sector, { sector, lanes: [] });
        touched.get(sector).lanes.push(lane);
      }
    });
    return [...touched.values()].sort((a, b) => a.sector - b.sector);
  }

  // Of a cp.async of 16 bytes: the sectors of shared memory that it fills, each once for every line
  // of global memory that it is filled from.
  function filled(offsets, to) {
    const touched = new Map();
    offsets.forEach((offset, lane) => {
      if (offset < 0) return;
      const line = Math.floor(offset / LINE_BYTES), sector = Math.floor(to[lane] / SECTOR_BYTES);
      const both = `${line} ${sector}`;
      if (!touched.has(both)) touched.set(both, { sector, line, lanes: [] });
      touched.get(both).lanes.push(lane);
    });
    return [...touched.values()].sort((a, b) => a.sector - b.sector || a.line - b.line);
  }

  // The wavefronts: each is a Map from a bank to the word it delivers and the lanes that want it.
  // Requests of 8 and 16 bytes go in halves and quarters of a warp; two of them merge when all
  // lanes l and l^1, or all l and l^2, ask for the same address.
  function wavefronts(offsets, bytes) {
    let parts = bytes === 16 ? 4 : bytes === 8 ? 2 : 1;
    const paired = distance => offsets.every((offset, lane) => {
      const other = offsets[lane ^ distance];
      return offset < 0 || other < 0 || offset === other;
    });
    if (parts > 1 && (paired(1) || paired(2))) parts /= 2;

    const result = [], lanes = WARP / parts;
    for (let first = 0; first < WARP; first += lanes) {
      const byBank = new Map();  // to the words it has to deliver, one after another
      for (let lane = first; lane < first + lanes; ++lane) {
        if (offsets[lane] < 0) continue;
        for (const word of unitsOf(offsets[lane], bytes, WORD_BYTES)) {
          const bank = word % BANKS;
          if (!byBank.has(bank)) byBank.set(bank, []);
          const known = byBank.get(bank).find(entry => entry.word === word);
          if (known) known.lanes.push(lane);
          else byBank.get(bank).push({ word, lanes: [lane] });
        }
      }
      const turns = Math.max(0, ...[...byBank.values()].map(words => words.length));
      for (let turn = 0; turn < turns; ++turn) {
        const wavefront = new Map();
        for (const [bank, words] of byBank)
          if (turn < words.length) wavefront.set(bank, words[turn]);
        result.push(wavefront);
      }
    }
    return result;
  }

  // The steps of a request, as many as it costs.
  function stepsOf(line, request, offsets) {
    if (line.space !== "global") return wavefronts(offsets, line.bytes);
    const to = destinationsOf(line, request);
    return to ? filled(offsets, to) : sectors(offsets, line.bytes);
  }

  // ---- Traces. The first request of a line is written as runs [offset, step, lanes], each other
  // one as what has to be added to the first one's offsets, or as runs, too. What a cp.async reads
  // has runs of where it goes.

  const fromRuns = runs => runs.flatMap(([offset, step, lanes]) =>
    Array.from({ length: lanes }, (_, i) => offset + i * step));

  function offsetsOf(line, request) {
    const [what] = line.first[request];
    if (Array.isArray(what)) return fromRuns(what);
    return offsetsOf(line, 0).map(offset => offset < 0 ? offset : offset + what);
  }

  // Where in shared memory a cp.async of 16 bytes puts what it reads; undefined of anything else.
  function destinationsOf(line, request) {
    const [, , to] = line.first[request];
    return to && fromRuns(to);
  }

  // ---- A layout: an expression of lane, row, col and k that gives an element's place.

  class LayoutError extends Error {
    constructor(...sentence) {
      super(say(...sentence));
    }
  }

  const NAMES = ["lane", "row", "col", "k"];
  const LEVELS = { "|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6,
                   "%": 6 };
  const APPLY = {
    "|": (a, b) => a | b, "^": (a, b) => a ^ b, "&": (a, b) => a & b,
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b,
    "<<": (a, b) => a * 2 ** shiftCount(b), ">>": (a, b) => a >> shiftCount(b),
    "/": (a, b) => Math.trunc(a / divisor(b)), "%": (a, b) => a % divisor(b),
  };

  function divisor(value) {
    if (value === 0) throw new LayoutError("the layout divides by 0");
    return value;
  }

  function shiftCount(value) {
    if (value < 0 || value > 31) throw new LayoutError("the layout shifts by {}", value);
    return value;
  }

  function tokensOf(text) {
    const tokens = [], pattern = /\s*(?:(\d+)|([A-Za-z_]\w*)|(<<|>>|[-+*\/%^&|()])|(\S))/y;
    while (text.slice(pattern.lastIndex).trim() !== "") {
      const match = pattern.exec(text);
      const column = pattern.lastIndex - match[0].trimStart().length + 1;
      if (match[4]) throw new LayoutError('column {}: "{}" has no meaning here', column, match[4]);
      tokens.push({ text: match[0].trim(), column, kind: match[1] ? "number" : match[2] ? "name"
                                                                              : "sign" });
    }
    return tokens;
  }

  // A function of {lane, row, col, k}. Throws LayoutError, a sentence for the reader, when the text
  // is no layout; so does the function where a value cannot be.
  function parseLayout(text) {
    if (text.length > 500) throw new LayoutError("a layout has at most 500 characters");
    const tokens = tokensOf(text);
    let next = 0;
    const checked = value => {
      if (Math.abs(value) >= LARGEST) throw new LayoutError("{} is too large for a layout", value);
      return value;
    };

    function operand() {
      const token = tokens[next++];
      if (token === undefined) throw new LayoutError("the layout ends where a number, lane, row, col, k or ( was expected");
      const { text: word, kind, column } = token;
      if (kind === "number") {
        const value = checked(Number(word));
        return () => value;
      }
      if (kind === "name") {
        if (!NAMES.includes(word))
          throw new LayoutError('column {}: there is no "{}"; there are lane, row, col and k', column, word);
        return place => place[word];
      }
      if (word === "-") {
        const value = operand();
        return place => -value(place);
      }
      if (word === "(") {
        const inner = expression(1);
        const end = tokens[next++];
        if (end === undefined) throw new LayoutError("column {}: this ( is never closed", column);
        if (end.text !== ")")
          throw new LayoutError('column {}: ) was expected, not "{}"', end.column, end.text);
        return inner;
      }
      throw new LayoutError('column {}: a number, lane, row, col, k or ( was expected, not "{}"', column, word);
    }

    function expression(level) {
      let left = operand();
      while (next < tokens.length && LEVELS[tokens[next].text] >= level) {
        const sign = tokens[next++].text, first = left, second = expression(LEVELS[sign] + 1);
        left = place => checked(APPLY[sign](first(place), second(place)));
      }
      return left;
    }

    const value = expression(1);
    if (next < tokens.length)
      throw new LayoutError('column {}: an operator was expected, not "{}"', tokens[next].column,
                            tokens[next].text);
    return value;
  }

  // Where the elements are that the lanes of a request ask for: {lane, row, col, k} by lane.
  function places(line, request) {
    return offsetsOf(line, request).map((offset, lane) => {
      if (offset < 0) return null;
      const row = line.pitch ? Math.floor(offset / line.pitch) : 0;
      const inRow = offset - row * line.pitch;
      return { lane, row, col: Math.floor(inRow / line.element), k: request };
    });
  }

  // The offsets of a request when the array is laid out so. Throws LayoutError.
  function relaid(line, request, layout) {
    return places(line, request).map(place => {
      if (place === null) return -1;
      const element = layout(place);
      if (element < 0)
        throw new LayoutError("lane {}: the layout gives {}, which is before the array",
                              place.lane, element);
      return element * line.element;
    });
  }

  // What a GPU, or the reader's result, would not forgive; "" where there is nothing.
  function doubt(line, request, offsets) {
    const crooked = offsets.findIndex(offset => offset >= 0 && offset % line.bytes !== 0);
    if (crooked >= 0)
      return say("Lane {} asks for byte {}, which is no multiple of {}: a GPU would stop with a misaligned address.",
                 crooked, offsets[crooked], line.bytes);
    const seen = new Map();
    for (const place of places(line, request)) {
      if (place === null) continue;
      const name = `row ${place.row}, col ${place.col}`, offset = offsets[place.lane];
      if (seen.has(offset) && seen.get(offset) !== name)
        return say("{} and {} have the same address: they would overwrite each other.",
                   seen.get(offset), name);
      seen.set(offset, name);
    }
    return "";
  }

  return { stepsOf, offsetsOf, destinationsOf, parseLayout, relaid, doubt, LayoutError, BANKS,
           WORD_BYTES, SECTOR_BYTES };
})();

// The traces' files call these.
const LADDER_TRACES = { stages: [], of: {} };
const ladderStages = stages => { LADDER_TRACES.stages = stages; };
const ladderTrace = trace => { LADDER_TRACES.of[trace.stage] = trace; };

(() => {
  const { stepsOf, destinationsOf, parseLayout, relaid, doubt, LayoutError, BANKS, WORD_BYTES,
          SECTOR_BYTES } = LadderStepper;
  const root = document.getElementById("stepper");
  if (root === null) return;
  const assets = new URL(".", document.currentScript.src);

  const plural = (count, unit) => say(`{} ${unit}${count === 1 ? "" : "s"}`, count);
  const make = (kind, attributes = {}, ...children) => {
    const element = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in element && name !== "list") element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const labelled = (text, field) => make("label", {}, make("span", {}, say(text)), field);

  // ---- The parts of the page.

  const stage = make("select", { id: "stepper-stage" });
  const variant = make("select", { id: "stepper-variant" });
  const source = make("select", { id: "stepper-line" });
  const code = make("code");
  const where = make("a");
  const button = (id, text, label, press) =>
    make("button", { id, type: "button", ariaLabel: say(label), title: say(label), onclick: press }, text);
  const play = make("button", { id: "stepper-play", type: "button", onclick: () => startOrStop() }, say("Play"));
  const requestText = make("output", { id: "stepper-request" });
  const stepText = make("output", { id: "stepper-step" });
  const pitch = make("input", { id: "stepper-pitch", type: "number", min: "1", step: "1" });
  const pitchName = make("span");
  const layout = make("input", { id: "stepper-layout", type: "text", spellcheck: false,
                                 autocomplete: "off" });
  const message = make("p", { id: "stepper-message", role: "alert" });
  const result = make("p", { id: "stepper-cost", role: "status" });
  const now = make("div", { id: "stepper-now" });
  const all = make("div", { id: "stepper-all", role: "img" });
  // Beside it, where the reader has changed the layout, the kernel's own.
  const yours = make("small"), kernelsAll = make("div", { id: "stepper-kernels", role: "img" });
  const kernels = make("div", { hidden: true }, make("small", {}, say("As the kernel has it")), kernelsAll);
  const lanes = make("div", { id: "stepper-lanes" });
  const panel = make("div", { id: "stepper-panel", tabIndex: 0, role: "group",
                              ariaLabel: say("One request: arrow keys step through it") });

  const PACE = 700;  // ms for each step

  let line = null, request = 0, step = 0, timer = 0;
  let offsets = [], to, steps = [];  // of the request; `to` where a cp.async puts them
  let valid = true;  // else what is drawn is the last layout that was valid

  // ---- Choosing.

  function load(name) {
    return new Promise((done, failed) => {
      const url = new URL(`traces/${name}.js`, assets);
      document.head.append(make("script", { src: url.href, onload: done, onerror: failed }));
    });
  }

  const options = (field, entries) => field.replaceChildren(
    ...entries.map(([value, text]) => make("option", { value }, text)));
  const variants = () => LADDER_TRACES.of[stage.value].variants;
  const lines = () => variants()[variant.selectedIndex].lines;
  const unit = () => line.space === "global" ? "sector" : "wavefront";
  const arrayName = l => l.array === "dynamic" ? say("shared memory") : l.array;
  const least = () => Math.ceil(line.ideal);  // steps; what is beyond them is red
  const keyOf = l => `${l.line}-${l.op}-${l.array}`;
  const ownLayout = () => line.pitch ? `row * ${line.pitch / line.element} + col` : "col";
  const digits = value => Number.isInteger(value) ? value : value.toFixed(2);

  async function chooseStage(wantedVariant) {
    if (!LADDER_TRACES.of[stage.value]) {
      const name = stage.value;
      await load(name);
      if (stage.value !== name) return;  // another was chosen meanwhile
    }
    options(variant, variants().map(v => [v.name, v.name]));
    const found = variants().findIndex(v => v.name === wantedVariant);
    variant.selectedIndex = found >= 0 ? found : variants().length - 1;
    chooseVariant();
  }

  function chooseVariant() {
    options(source, lines().map((l, i) =>
      [i, say("{}:{} {} {}, {} bytes: {}", l.file, l.line, l.op, arrayName(l), l.bytes,
              say(l.space === "global" ? "{} sectors" : "{} wavefronts", digits(l.cost)))]));
    // The line that costs most above its least; where none does, the one that costs most.
    const excess = lines().map(l => (l.cost - l.ideal) * l.requests);
    const all = lines().map(l => l.cost * l.requests);
    const worst = Math.max(...excess) > 0 ? excess : all;
    source.selectedIndex = worst.indexOf(Math.max(...worst));
    chooseLine();
  }

  function chooseLine() {
    stop();
    line = lines()[source.selectedIndex];
    request = step = 0;
    code.textContent = line.text;
    where.textContent = say("kernels/{}, line {}", line.file, line.line);
    where.href = new URL(`../source/kernels/${line.path}.html#__codelineno-0-${line.line}`,
                         assets).href;
    pitchName.textContent = say(line.space === "global" ? "leading dimension, in elements"
                                                        : "row pitch, in elements");
    pitch.disabled = !line.pitch;
    reset();
  }

  function reset() {
    pitch.value = line.pitch ? line.pitch / line.element : "";
    layout.value = ownLayout();
    show();
  }

  // What the reader looks at, in the address; `layout` where it is not the kernel's.
  function remember() {
    const state = { stage: stage.value, variant: variant.value, line: keyOf(line),
                    request: request + 1, step: step + 1 };
    if (layout.value !== ownLayout()) state.layout = layout.value;
    history.replaceState(null, "", `?${new URLSearchParams(state)}${location.hash}`);
  }

  function restore(wanted) {
    const found = lines().findIndex(l => keyOf(l).endsWith(wanted.get("line") ?? " "));
    if (found >= 0) {
      source.selectedIndex = found;
      chooseLine();
    }
    const within = (name, count) => {
      const value = Number(wanted.get(name) ?? 1);
      return Number.isInteger(value) && value >= 1 && value <= count ? value - 1 : 0;
    };
    request = within("request", line.first.length);
    layout.value = wanted.get("layout") ?? layout.value;
    show();
    if (valid) {
      step = within("step", steps.length);
      draw();
    }
  }

  function changePitch() {
    stop();
    layout.value = `row * ${pitch.value} + col`;
    const value = Number(pitch.value);
    if (!Number.isInteger(value) || value < 1) {
      refuse(say("{}: a whole number from 1 on is needed", pitchName.textContent));
      return;
    }
    show();
  }

  // ---- Stepping.

  function turnRequest(by, toLastStep = false) {
    const wanted = request + by;
    if (!valid || wanted < 0 || wanted >= line.first.length) return;
    request = wanted;
    step = 0;
    show();
    if (toLastStep && steps.length > 0) {
      step = steps.length - 1;
      draw();
    }
  }

  function turnStep(by) {
    if (step + by >= steps.length) turnRequest(1);
    else if (step + by < 0) turnRequest(-1, true);
    else {
      step += by;
      draw();
    }
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = say("Play");
  }

  const atEnd = () => step + 1 >= steps.length && request + 1 >= line.first.length;

  // All steps of all requests, from where the reader is to the last.
  function startOrStop() {
    if (timer) return stop();
    if (!valid) return;
    if (atEnd()) {
      request = step = 0;
      show();
    }
    play.textContent = say("Pause");
    timer = setInterval(() => {
      turnStep(1);
      if (atEnd()) stop();
    }, PACE);
  }

  function pressed(event) {
    const keys = { ArrowRight: () => turnStep(1), ArrowLeft: () => turnStep(-1),
                   ArrowDown: () => turnRequest(1), ArrowUp: () => turnRequest(-1) };
    if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  // ---- Showing.

  function refuse(text) {
    message.textContent = text;
    message.className = "wrong";
    layout.setAttribute("aria-invalid", "true");
    panel.classList.add("stale");
    valid = false;
  }

  // What the request takes with the layout that the page shows.
  function show() {
    let total = 0, wanted;
    try {
      const place = parseLayout(layout.value);
      wanted = relaid(line, request, place);
      for (let r = 0; r < line.first.length; ++r)
        total += stepsOf(line, r, relaid(line, r, place)).length;
    } catch (error) {
      if (!(error instanceof LayoutError)) throw error;
      refuse(error.message);
      return;
    }
    offsets = wanted;
    valid = true;
    panel.classList.remove("stale");
    requestText.textContent = say("request {} of {}", request + 1, line.first.length);
    layout.setAttribute("aria-invalid", "false");
    message.textContent = doubt(line, request, offsets);
    message.className = message.textContent ? "doubtful" : "";
    to = destinationsOf(line, request);
    steps = stepsOf(line, request, offsets);
    const was = line.first.reduce((sum, [, recorded]) => sum + recorded, 0);
    const recorded = line.first[request][1];
    const beyond = steps.length - least();
    result.replaceChildren(
      make("strong", {}, plural(steps.length, unit())),
      say(" for this request; as the kernel has it: {}, the fewest possible: {}. All {} recorded: {}, as the kernel has it: {}.",
          recorded, digits(line.ideal), line.first.length, total, was),
      beyond > 0 ? say(" Red: the {} beyond the fewest.", beyond) : "");
    step = Math.min(step, steps.length - 1);
    draw();
  }

  const kindOf = index => index < least() ? "served" : "served beyond";
  const laneText = list => list.length === 0 ? "" : list.length === 1 ? `${list[0]}`
                                                                      : `${list[0]}+`;
  const cell = (head, list, kind) => make("span", { className: `cell ${kind}`,
    title: list.length > 0 ? say("{}: lane {}", head, list.join(", ")) : say("{}: idle", head) },
    make("small", {}, head.replace(/[^\d]/g, "")), make("b", {}, laneText(list)));

  // The lanes of a step that want any byte of that word, or fill it.
  const lanesOfWord = (one, word, layoutOf) => {
    const bytes = to ?? layoutOf;
    return one.lanes.filter(lane => bytes[lane] < (word + 1) * WORD_BYTES &&
                                    bytes[lane] + line.bytes > word * WORD_BYTES);
  };

  // What a row of a step shows: the lanes of each bank, or of each word of a sector.
  const lanesIn = (one, layoutOf) => line.space !== "global"
    ? Array.from({ length: BANKS }, (_, bank) => one.get(bank)?.lanes ?? [])
    : wordsOf(one).map(word => lanesOfWord(one, word, layoutOf));
  const wordsOf = one => Array.from({ length: SECTOR_BYTES / WORD_BYTES },
                                    (_, i) => one.sector * SECTOR_BYTES / WORD_BYTES + i);

  // All steps of the request, a row for each, in `box`; `layoutOf` its offsets.
  function drawAll(box, rows, layoutOf, properties) {
    box.className = `steps ${line.space === "global" ? "sectors" : "wavefronts"}`;
    box.setAttribute("aria-label", say(line.space === "global" ? "all {}, a row of words for each"
                                                               : "all {}, a row for each", plural(rows.length, unit())));
    box.replaceChildren(...rows.map((one, i) => make("div", { className: "row", ...properties(i) },
      ...lanesIn(one, layoutOf).map(list => make("span", { className: list.length > 0 ? kindOf(i) : "" })))));
  }

  function drawStep() {
    const one = steps[step], global = line.space === "global";
    const heads = global ? wordsOf(one).map(word => say("byte {}", word * WORD_BYTES))
                         : Array.from({ length: BANKS }, (_, bank) => say("bank {}", bank));
    now.className = global ? "words" : "banks";
    now.replaceChildren(...lanesIn(one, offsets).map((list, i) => cell(heads[i], list, list.length > 0 ? kindOf(step) : "")));
    drawAll(all, steps, offsets, i => ({ className: i === step ? "row current" : "row", onclick: () => { step = i; draw(); } }));
    const changed = layout.value !== ownLayout();
    kernels.hidden = !changed;
    yours.textContent = changed ? say("With your layout") : "";
    if (changed) {
      const own = relaid(line, request, parseLayout(ownLayout()));
      drawAll(kernelsAll, stepsOf(line, request, own), own, () => ({}));
    }
    return new Set(global ? one.lanes : [...one.values()].flatMap(entry => entry.lanes));
  }

  function laneCard(offset, lane, served) {
    const head = make("b", {}, `lane ${lane}`);
    if (offset < 0) return make("div", { className: "lane idle" }, head, make("span", {}, say("idle")));
    const size = line.space === "global" ? SECTOR_BYTES : WORD_BYTES;
    const first = Math.floor(offset / size), last = Math.floor((offset + line.bytes - 1) / size);
    const name = value => line.space === "global" ? value : value % BANKS;
    const range = first === last ? name(first) : `${name(first)}–${name(last)}`;
    return make("div", { className: served.has(lane) ? "lane served" : "lane" }, head,
      make("span", {}, say("byte {}", offset)),
      make("span", {}, say(line.space === "global" ? "sector {}" : "bank {}", range)),
      ...(to ? [make("span", {}, say("to byte {}", to[lane]))] : []));
  }

  function draw() {
    stepText.textContent = say(`${unit()} {} of {}`, step + 1, steps.length);
    const served = drawStep();
    lanes.replaceChildren(...offsets.map((offset, lane) => laneCard(offset, lane, served)));
    remember();
  }

  // ---- Putting it together.

  stage.onchange = () => chooseStage();
  variant.onchange = chooseVariant;
  source.onchange = chooseLine;
  pitch.oninput = changePitch;
  layout.oninput = () => { stop(); show(); };
  panel.onkeydown = pressed;
  panel.append(
    make("div", { className: "bar" },
      make("span", {}, button("stepper-previous-request", "▲", "previous request",
                              () => turnRequest(-1)),
        requestText, button("stepper-next-request", "▼", "next request", () => turnRequest(1))),
      make("span", {}, button("stepper-previous", "◀", "step back", () => turnStep(-1)), stepText,
        button("stepper-next", "▶", "step forward", () => turnStep(1)), play)),
    result, now, make("div", { className: "both" }, make("div", {}, yours, all), kernels), lanes);

  async function start() {
    await load("index");
    options(stage, LADDER_TRACES.stages.map(name => [name, name]));
    const address = new URLSearchParams(location.search);
    const wanted = address.has("stage") ? address : new URLSearchParams({ ...root.dataset });
    stage.value = wanted.get("stage");
    if (stage.selectedIndex < 0) stage.selectedIndex = 0;
    await chooseStage(wanted.get("variant"));
    restore(wanted);
    root.replaceChildren(
      make("div", { className: "choice" }, labelled("stage", stage), labelled("variant", variant),
        labelled("source line and array", source)),
      make("pre", {}, code), make("p", { className: "where" }, where),
      make("div", { className: "layout" }, make("label", {}, pitchName, pitch),
        labelled("layout (of lane, row, col, k)", layout),
        button("stepper-reset", say("As the kernel has it"), "back to the kernel's layout", reset)),
      message, panel);
  }
  start().catch(() => { root.textContent = say("The traces could not be loaded."); });
})();
