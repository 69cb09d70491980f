// The stepper: the requests of one warp, as the CPU device recorded them, lane by lane.
//
// docs/assets/traces/ has a file for each stage (written by ./ladder traces). It is loaded by a
// <script> element, because a page that was opened from disk may not fetch files.
"use strict";

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

  class LayoutError extends Error {}

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
    if (value < 0 || value > 31) throw new LayoutError(`the layout shifts by ${value}`);
    return value;
  }

  function tokensOf(text) {
    const tokens = [], pattern = /\s*(?:(\d+)|([A-Za-z_]\w*)|(<<|>>|[-+*\/%^&|()])|(\S))/y;
    while (text.slice(pattern.lastIndex).trim() !== "") {
      const match = pattern.exec(text);
      const column = pattern.lastIndex - match[0].trimStart().length + 1;
      if (match[4]) throw new LayoutError(`column ${column}: "${match[4]}" has no meaning here`);
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
    const wanted = "a number, lane, row, col, k or ( was expected";
    const checked = value => {
      if (Math.abs(value) >= LARGEST) throw new LayoutError(`${value} is too large for a layout`);
      return value;
    };

    function operand() {
      const token = tokens[next++];
      if (token === undefined) throw new LayoutError(`the layout ends where ${wanted}`);
      const { text: word, kind, column } = token;
      if (kind === "number") {
        const value = checked(Number(word));
        return () => value;
      }
      if (kind === "name") {
        if (!NAMES.includes(word))
          throw new LayoutError(`column ${column}: there is no "${word}"; there are lane, row, ` +
                                "col and k");
        return place => place[word];
      }
      if (word === "-") {
        const value = operand();
        return place => -value(place);
      }
      if (word === "(") {
        const inner = expression(1);
        const end = tokens[next++];
        if (end === undefined) throw new LayoutError(`column ${column}: this ( is never closed`);
        if (end.text !== ")")
          throw new LayoutError(`column ${end.column}: ) was expected, not "${end.text}"`);
        return inner;
      }
      throw new LayoutError(`column ${column}: ${wanted}, not "${word}"`);
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
      throw new LayoutError(`column ${tokens[next].column}: an operator was expected, not ` +
                            `"${tokens[next].text}"`);
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
        throw new LayoutError(`lane ${place.lane}: the layout gives ${element}, which is before ` +
                              "the array");
      return element * line.element;
    });
  }

  // What a GPU, or the reader's result, would not forgive; "" where there is nothing.
  function doubt(line, request, offsets) {
    const crooked = offsets.findIndex(offset => offset >= 0 && offset % line.bytes !== 0);
    if (crooked >= 0)
      return `Lane ${crooked} asks for byte ${offsets[crooked]}, which is no multiple of ` +
             `${line.bytes}: a GPU would stop with a misaligned address.`;
    const seen = new Map();
    for (const place of places(line, request)) {
      if (place === null) continue;
      const name = `row ${place.row}, col ${place.col}`, offset = offsets[place.lane];
      if (seen.has(offset) && seen.get(offset) !== name)
        return `${seen.get(offset)} and ${name} have the same address: they would overwrite ` +
               "each other.";
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

  const plural = (count, unit) => `${count} ${unit}${count === 1 ? "" : "s"}`;
  const make = (kind, attributes = {}, ...children) => {
    const element = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in element && name !== "list") element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const labelled = (text, field) => make("label", {}, make("span", {}, text), field);

  // ---- The parts of the page.

  const stage = make("select", { id: "stepper-stage" });
  const variant = make("select", { id: "stepper-variant" });
  const source = make("select", { id: "stepper-line" });
  const code = make("code");
  const where = make("a");
  const button = (id, text, label, press) =>
    make("button", { id, type: "button", ariaLabel: label, title: label, onclick: press }, text);
  const play = make("button", { id: "stepper-play", type: "button", onclick: () => startOrStop() }, "Play");
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
  const lanes = make("div", { id: "stepper-lanes" });
  const panel = make("div", { id: "stepper-panel", tabIndex: 0, role: "group",
                              ariaLabel: "One request: arrow keys step through it" });

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
  const arrayName = l => l.array === "dynamic" ? "shared memory" : l.array;
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
      [i, `${l.file}:${l.line} ${l.op} ${arrayName(l)}, ${l.bytes} bytes: ` +
          `${digits(l.cost)} ${l.space === "global" ? "sectors" : "wavefronts"}`]));
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
    where.textContent = `kernels/${line.file}, line ${line.line}`;
    where.href = new URL(`../source/kernels/${line.path}.html#__codelineno-0-${line.line}`,
                         assets).href;
    pitchName.textContent = line.space === "global" ? "leading dimension, in elements"
                                                    : "row pitch, in elements";
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
      refuse(`${pitchName.textContent}: a whole number from 1 on is needed`);
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
    play.textContent = "Play";
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
    play.textContent = "Pause";
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
    requestText.textContent = `request ${request + 1} of ${line.first.length}`;
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
      ` for this request; as the kernel has it: ${recorded}, the fewest possible: ` +
      `${digits(line.ideal)}. All ${line.first.length} recorded: ${total}, ` +
      `as the kernel has it: ${was}.` + (beyond > 0 ? ` Red: the ${beyond} beyond the fewest.` : ""));
    step = Math.min(step, steps.length - 1);
    draw();
  }

  const kindOf = index => index < least() ? "served" : "served beyond";
  const laneText = list => list.length === 0 ? "" : list.length === 1 ? `${list[0]}`
                                                                      : `${list[0]}+`;
  const cell = (head, list, kind) => make("span", { className: `cell ${kind}`,
    title: list.length > 0 ? `${head}: lane ${list.join(", ")}` : `${head}: idle` },
    make("small", {}, head.replace(/^\w+ /, "")), make("b", {}, laneText(list)));

  // The lanes of a step that want any byte of that word, or fill it.
  const lanesOfWord = (one, word) => {
    const bytes = to ?? offsets;
    return one.lanes.filter(lane => bytes[lane] < (word + 1) * WORD_BYTES &&
                                    bytes[lane] + line.bytes > word * WORD_BYTES);
  };

  function drawWavefront() {
    const wavefront = steps[step];
    now.className = "banks";
    now.replaceChildren(...Array.from({ length: BANKS }, (_, bank) => {
      const list = wavefront.get(bank)?.lanes ?? [];
      return cell(`bank ${bank}`, list, list.length > 0 ? kindOf(step) : "");
    }));
    all.className = "wavefronts";
    all.setAttribute("aria-label", `all ${plural(steps.length, "wavefront")}, a row for each`);
    all.replaceChildren(...steps.map((row, i) => make("div", {
      className: i === step ? "row current" : "row", onclick: () => { step = i; draw(); } },
      ...Array.from({ length: BANKS }, (_, bank) =>
        make("span", { className: row.has(bank) ? kindOf(i) : "" })))));
    return new Set([...wavefront.values()].flatMap(entry => entry.lanes));
  }

  function drawSector() {
    const words = SECTOR_BYTES / WORD_BYTES;
    const row = one => Array.from({ length: words }, (_, i) => one.sector * words + i);
    now.className = "words";
    now.replaceChildren(...row(steps[step]).map(word => {
      const list = lanesOfWord(steps[step], word);
      return cell(`byte ${word * WORD_BYTES}`, list, list.length > 0 ? kindOf(step) : "");
    }));
    all.className = "sectors";
    all.setAttribute("aria-label", `all ${plural(steps.length, "sector")}, a row of words for each`);
    all.replaceChildren(...steps.map((one, i) => make("div", {
      className: i === step ? "row current" : "row", onclick: () => { step = i; draw(); } },
      ...row(one).map(word =>
        make("span", { className: lanesOfWord(one, word).length > 0 ? kindOf(i) : "" })))));
    return new Set(steps[step].lanes);
  }

  function laneCard(offset, lane, served) {
    const head = make("b", {}, `lane ${lane}`);
    if (offset < 0) return make("div", { className: "lane idle" }, head, make("span", {}, "idle"));
    const size = line.space === "global" ? SECTOR_BYTES : WORD_BYTES;
    const first = Math.floor(offset / size), last = Math.floor((offset + line.bytes - 1) / size);
    const name = value => line.space === "global" ? value : value % BANKS;
    const range = first === last ? name(first) : `${name(first)}–${name(last)}`;
    return make("div", { className: served.has(lane) ? "lane served" : "lane" }, head,
      make("span", {}, `byte ${offset}`),
      make("span", {}, `${line.space === "global" ? "sector" : "bank"} ${range}`),
      ...(to ? [make("span", {}, `to byte ${to[lane]}`)] : []));
  }

  function draw() {
    const unitName = unit();
    stepText.textContent = `${unitName} ${step + 1} of ${steps.length}`;
    const served = line.space === "global" ? drawSector() : drawWavefront();
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
    result, now, all, lanes);

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
        button("stepper-reset", "As the kernel has it", "back to the kernel's layout", reset)),
      message, panel);
  }
  start().catch(() => { root.textContent = "The traces could not be loaded."; });
})();
