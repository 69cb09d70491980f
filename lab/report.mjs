// What a run has answered, as words at the lines of one file.

const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const rounded = (x) => String(Math.round(x * 100) / 100);

// Of an access: "store sB: 32 wavefronts per request, ideal 1".
function noteOf(row) {
  const [cost, ideal, unit] = row.space === "shared"
    ? [row.wavefronts_per_request, row.ideal_wavefronts, "wavefronts"]
    : [row.sectors_per_request, row.ideal_sectors, "sectors"];
  const units = cost === 1 ? unit.slice(0, -1) : unit;
  const beside = cost > ideal ? `, ideal ${rounded(ideal)}` : "";
  return { words: `${row.op} ${row.array}: ${rounded(cost)} ${units} per request${beside}`, dear: cost > ideal };
}

// "/lab/run/03.cuh:33: race: ..." and what the compiler says, "03.cuh:33:5: error: ...": {line, words},
// or nothing where it is another file's.
function placed(said, file) {
  const found = /^(\S+?):(\d+):(?:\d+:)? (.*)$/s.exec(said);
  return found !== null && nameOf(found[1]) === file ? { line: Number(found[2]), words: found[3] } : undefined;
}

// A finding without the text of its line, which is there, and with the other access in a line of its own.
function shortened(finding) {
  const found = /^(.*? \(\d+ times?\)): (.*?)(?:; the other: (\S*?)([^/\s]+:\d+: .*))?$/s.exec(finding);
  if (found === null) return finding;
  return found[4] === undefined ? found[1] : `${found[1]}\nthe other access: ${found[4]}`;
}

const ERROR = /(?:fatal )?error: /;

// {verdict, ok, lines, elsewhere}: one line of words; what editor.mjs marks; messages of other files.
export function reportOf(answer, file) {
  const lines = new Map();
  const at = (line) => lines.get(line) ?? lines.set(line, { line, notes: [], messages: [] }).get(line);
  const elsewhere = [];
  const say = (said) => {
    const place = placed(said, file);
    if (place === undefined) elsewhere.push(said);
    else at(place.line).messages.push(shortened(place.words));
  };
  const ended = (verdict, ok) => ({ verdict, ok, elsewhere, lines: [...lines.values()].sort((a, b) => a.line - b.line) });

  if (answer.refused !== undefined) {
    answer.refused.split("\n").filter((line) => ERROR.test(line)).forEach(say);
    return ended("does not compile", false);
  }
  const { out, error, code } = answer.runs?.[0] ?? answer;
  if (error && !out) return ended(`ended before it was done: ${error.trim()}`, false);
  const [variant] = JSON.parse(out).variants;
  for (const row of variant.memory) {
    const note = noteOf(row);
    if (nameOf(row.file) === file) at(row.line).notes.push(note);
    else elsewhere.push(`${nameOf(row.file)}:${row.line}: ${note.words}`);
  }
  variant.findings.forEach(say);
  const check = variant.check?.ok ? "result ok" : "wrong result";
  const found = variant.findings.length;
  return ended(found === 0 ? `${variant.name}: ${check}` : `${variant.name}: ${check}, ${found} finding${found === 1 ? "" : "s"}`, code === 0);
}
