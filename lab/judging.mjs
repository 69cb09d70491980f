// What a solution is told of the cases that it ran: scripts/ladder/exercises/judging.py and costs.py,
// in the page. tests/scripts/test_lab_exercises.py compares their words. `words` is grader.json, what
// lab/build.py has taken over from there.
import { mapOf } from "./wrong_map.mjs";

export const DRAWN = "a drawn shape";

const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const placeLine = (place) => `${nameOf(place.file)}:${place.line}`;

// As "%.7g" prints it.
function number(value) {
  if (typeof value === "string" || value === 0) return String(value);
  const [digits, exponent] = value.toExponential(6).split("e");
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < 7) return short(value.toFixed(6 - exponent));
  return `${short(digits)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

// What each line contributes to a cost, "wavefronts of sA", the most expensive first.
function costLines(words, testCase, cost) {
  const [name, array = ""] = cost.split(" of ");
  if (words.costs[name] === null) return [];
  const { space, operations, unit } = words.costs[name];
  const lines = testCase.memory.filter((x) => x.space === space && operations.includes(x.operation) && ["", x.array].includes(array));
  return lines.map((line) => ({ amount: line[unit], line })).sort((a, b) => b.amount - a.amount);
}

export function costOf(words, testCase, cost) {
  if (cost === "barriers" || cost === "copies_ahead") return testCase[cost];
  if (cost === "shared_bytes") {
    const named = testCase.memory.filter((x) => x.space === "shared" && x.array !== "dynamic");
    const arrays = new Map(named.map((x) => [`${x.array} ${x.array_bytes}`, x.array_bytes]));
    return [...arrays.values()].reduce((sum, bytes) => sum + bytes, testCase.dynamic_bytes);
  }
  return costLines(words, testCase, cost).reduce((sum, { amount }) => sum + amount, 0);
}

// The line, the other one that it conflicts with, and what to look for.
function findingDetails(words, finding) {
  const details = [`    ${finding.text}`];
  if (finding.who) details.push(`Here waits: ${finding.who}`);
  const other = finding.other;
  if (other && placeLine(other) === placeLine(finding))
    return [...details, "The other access is in the same line, by another thread: do both take one element, or is one of them a turn ahead?"];
  if (other) details.push(`The other access, ${placeLine(other)}:`, `    ${other.text}`);
  const advice = Object.entries(words.advice).find(([cause]) => new RegExp(cause).test(finding.cause));
  return advice === undefined ? details : [...details, advice[1]];
}

function withoutPlace(finding, testCase) {
  const example = finding.example ? `: ${finding.example}` : "";
  return `${finding.cause}${example} (in ${testCase.name}, ${counted(finding.count, "time")})`;
}
const findingLine = (finding, testCase) => `${placeLine(finding)}: ${withoutPlace(finding, testCase)}`;

// In the file of the first.
function linesOf(...findings) {
  const places = findings.flatMap((f) => [f, f.other]).filter((place) => place?.file === findings[0].file);
  return [...new Set(places.map((place) => place.line))];
}

function wrongLine(testCase) {
  const { wrong, wrong_elements: n, map } = testCase;
  const size = map.reduce((sum, row) => sum + row.length, 0);
  return `wrong result: ${wrong.array} at row ${wrong.row}, column ${wrong.column} is ${number(wrong.got)}, not ${number(wrong.expected)} (in ${testCase.name}, ${n > 1 && n === size ? "all " : ""}${counted(n, "element")} wrong)`;
}

function foundIn(words, cases) {
  const different = new Map();
  for (const testCase of cases)
    for (const finding of testCase.findings) {
      const key = `${finding.line} ${finding.cause}`;
      if (!different.has(key)) different.set(key, [finding, testCase]);
    }
  if (different.size === 0) return undefined;
  const [[first, testCase], ...others] = different.values();
  const details = findingDetails(words, first);
  const shown = [first];
  if (first.cause.includes("deadlock")) // whoever it is that should have gone on
    for (const [other, its] of others) {
      if (its !== testCase || !other.cause.includes("deadlock")) continue;
      details.push(`Others wait, ${findingLine(other, testCase)}`.replace("deadlock: threads wait here, ", ""), ...findingDetails(words, other));
      shown.push(other);
    }
  const more = others.filter(([f]) => !shown.includes(f)).map(([f, its]) => [findingLine(f, its), ...findingDetails(words, f)]);
  const places = [linesOf(...shown), ...others.map(([f]) => linesOf(f))];
  return { ok: false, line: findingLine(first, testCase), details, more, unplaced: withoutPlace(first, testCase), places };
}

const verdict = (ok, line, details = []) => ({ ok, line, details, more: [], unplaced: "", places: [] });

// What is wrong with the results, or undefined.
function correctness(words, cases) {
  const broken = cases.find((c) => c.error);
  if (broken !== undefined) return verdict(false, `cannot be launched: ${broken.error} (in ${broken.name})`);
  const [wrong] = cases.filter((c) => c.wrong);
  const found = foundIn(words, cases);
  if (found !== undefined) {
    if (wrong !== undefined) found.details.push(wrongLine(wrong));
    return found;
  }
  if (wrong !== undefined) {
    const good = cases.filter((c) => !c.wrong).map((c) => c.name);
    const details = wrong.wrong.got === "NaN" ? [words.nan] : [];
    if (good.length > 0) details.push(`right in ${good.join(", ")}`);
    return verdict(false, wrongLine(wrong), [...details, ...mapOf(wrong.map)]);
  }
  const stray = cases.find((c) => c.stray);
  return stray && verdict(false, `stray write: ${stray.stray} (in ${stray.name})`);
}

// A limit is the most, or "at least N".
const isLeast = (limit) => typeof limit === "string";
const bound = (limit) => Number(String(limit).replace("at least ", ""));

// A line for each limit, with the most expensive source line; and what exceeds its limit.
function costTable(words, exercise, cases) {
  const table = [];
  const exceeded = [];
  for (const [name, limits] of Object.entries(exercise.limits))
    for (const [cost, limit] of Object.entries(limits)) {
      const n = costOf(words, cases[name], cost);
      const isOk = isLeast(limit) ? n >= bound(limit) : n <= limit;
      let shown = `${isOk ? "ok" : "--"}  ${cost.padEnd(20)} ${String(n).padStart(10)}   limit ${String(limit).padStart(10)}   ${name}`;
      const [most] = costLines(words, cases[name], cost);
      if (most !== undefined && !isOk) shown += `\n      ${most.amount} of them in ${placeLine(most.line)}: ${most.line.text}`;
      table.push(shown);
      if (isOk) continue;
      const [kind, array] = cost.split(" of ");
      const unit = kind.replaceAll("_", " ") + (array ? ` of ${array}` : "");
      exceeded.push(`${isLeast(limit) ? "not as asked" : "too expensive"}: ${n} ${unit} in ${name}, ${isLeast(limit) ? `it takes ${limit}` : `the limit is ${limit}`}`);
    }
  return [table, exceeded];
}

// What costs more at the drawn shape than the limits allow beside the reference's costs there, and a
// quarter.
function dearWhereDrawn(words, exercise, cases, reference) {
  const [[name, limits]] = Object.entries(exercise.limits);
  return Object.entries(limits).flatMap(([cost, limit]) => {
    const n = costOf(words, cases[DRAWN], cost);
    const usual = costOf(words, reference[DRAWN], cost);
    const allowed = ((usual * bound(limit)) / Math.max(1, costOf(words, reference[name], cost))) * (isLeast(limit) ? 0.75 : 1.25);
    if (isLeast(limit) ? n >= allowed : n <= allowed) return [];
    return [`${isLeast(limit) ? "not as asked" : "too expensive"}: ${n} ${cost.replaceAll("_", " ")} in ${DRAWN}, where the reference has ${usual}`];
  });
}

const byName = (cases) => Object.fromEntries(cases.map((c) => [c.name, c]));

// Of a solution that ran, as the reference did. `cases` may be a text: how it ended instead.
export function judge(words, exercise, cases, reference) {
  if (typeof cases === "string") return verdict(false, cases);
  const wrong = correctness(words, cases);
  if (wrong !== undefined) return wrong;
  const most = Math.max(...cases.map((c) => costOf(words, c, "shared_bytes")));
  if (most > words.shared) return verdict(false, `${most} bytes of shared memory: a block has ${words.shared} at most`);
  let [table, exceeded] = costTable(words, exercise, byName(cases));
  if (Object.keys(exercise.limits).length > 0 && exceeded.length === 0) exceeded = dearWhereDrawn(words, exercise, byName(cases), byName(reference));
  return verdict(exceeded.length === 0, exceeded[0] ?? "all holds", table);
}

// Of numbers, {name: number}. The verdict does not give away the right ones.
export function judgeAnswer(words, exercise, cases, given) {
  const wrong = judge(words, exercise, cases, []);
  if (!wrong.ok) return wrong;
  const missed = Object.entries(exercise.questions).flatMap(([name, question]) => {
    if (!Number.isInteger(given[name])) return [`${name} has no whole number yet`];
    return given[name] === costOf(words, byName(cases)[question.case], question.cost) ? [] : [`${name} is not ${given[name]}`];
  });
  return verdict(missed.length === 0, missed.length === 0 ? "all holds" : missed.join(", "));
}
