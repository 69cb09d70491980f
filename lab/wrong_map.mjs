// Which elements of an array are wrong: their pattern in words, and a small map. It is
// scripts/ladder/exercises/wrong_map.py, in the page.

const ROWS = 8;
const COLUMNS = 32; // of a map, at most
const SHARE = 0.97; // of the elements of a pattern: by accident some of them are right

const range = (n) => [...Array(n).keys()];
const periods = (n) => [2, 4, 8, 16, 32, 64].filter((period) => 2 * period <= n);

// "columns 0 and 4 to 7"; "" if they are too scattered.
function listed(indices, what) {
  const every = [...indices].sort((a, b) => a - b);
  const begins = every.filter((index, i) => index !== every[i - 1] + 1);
  const ends = every.filter((index, i) => index + 1 !== every[i + 1]);
  const parts = begins.map((a, i) => (a === ends[i] ? `${a}` : `${a} to ${ends[i]}`));
  if (parts.length > 4) return "";
  const several = parts.length > 1 || parts[0].includes("to") ? "s" : "";
  return `${what}${several} ${parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0]}`;
}

// "columns 8 to 15 of every 16"; "" if there is no simple pattern.
function inWords(indices, n, what) {
  if (indices.size === n) return `all ${what}s`;
  for (const period of periods(n)) {
    const ofOne = new Set([...indices].map((i) => i % period));
    if (range(n).every((i) => ofOne.has(i % period) === indices.has(i))) {
      const said = listed(ofOne, what);
      return said && `${said} of every ${period}`;
    }
  }
  const said = listed(indices, what);
  const begin = Math.min(...indices);
  if (said && indices.size === n - begin) return `${said}, the last${n - begin > 1 ? ` ${n - begin}` : ""}`;
  return said && `${said} of ${n}`;
}

// The smallest tile that the pattern repeats; all of it, where it does not.
function tileOf(wrong, rows, columns) {
  const every = [...periods(rows), rows].flatMap((height) => [...periods(columns), columns].map((width) => [height, width]));
  every.sort((a, b) => a[0] * a[1] - b[0] * b[1]);
  for (const [height, width] of every) {
    const tile = new Map(wrong.map(([i, j]) => [`${i % height} ${j % width}`, [i % height, j % width]]));
    let expected = 0;
    for (const [i, j] of tile.values()) expected += Math.ceil((rows - i) / height) * Math.ceil((columns - j) / width);
    if (wrong.length >= SHARE * expected) return [height, width];
  }
  return [rows, columns];
}

// What the rows and the columns of the wrong elements have in common; "" if it is more than that.
function saidOf(wrong, height, width) {
  const ofRows = new Set(wrong.map(([i]) => i));
  const ofColumns = new Set(wrong.map(([, j]) => j));
  const rows = inWords(ofRows, height, "row");
  const columns = inWords(ofColumns, width, height === 1 ? "element" : "column");
  if (wrong.length < SHARE * ofRows.size * ofColumns.size || !rows || !columns) return "";
  let said = height === 1 ? columns : ofRows.size === height ? `${columns}, in ${rows}` : `${rows}, in ${columns}`;
  const isWrong = new Set(wrong.map(String));
  const right = [...ofRows].flatMap((i) => [...ofColumns].map((j) => [i, j])).filter((place) => !isWrong.has(String(place)));
  if (right.length > 0 && right.every(([i, j]) => i === j)) said += ", but not on the diagonal: are rows and columns exchanged?";
  else if (right.length > 0) said += `, but for ${right.length} that are right, by accident perhaps`;
  return said;
}

// The first of its rows and columns, or all, with as few signs as a map may have; and what these mean.
function drawn(every, most = [Infinity, Infinity]) {
  const rows = every.slice(0, most[0]).map((row) => row.slice(0, most[1]));
  const height = rows.length;
  const width = rows[0].length;
  let tall = 1;
  let wide = 1;
  while (height > tall * ROWS) tall *= 2;
  while (width > wide * COLUMNS) wide *= 2;
  const lines = [];
  for (let i = 0; i < height; i += tall) {
    let signs = "";
    for (let j = 0; j < width; j += wide) {
      const marks = rows.slice(i, i + tall).map((row) => row.slice(j, j + wide)).join("");
      signs += !marks.includes("#") ? "." : !marks.includes(".") ? "#" : "+";
    }
    lines.push(`    ${signs}`);
  }
  let legend = `    . right, # wrong${lines.join("").includes("+") ? ", + some of them wrong" : ""}`;
  if (tall * wide > 1) legend += `; a sign is ${tall} x ${wide} elements`;
  if (height !== every.length || width !== every[0].length) legend += `; the first ${height > 1 ? `${height} rows and ${width} columns` : `${width} elements`}`;
  return [...lines, legend];
}

// Of rows of . and #, what the elements that are # have in common, then the map. Nothing where it is
// one of them, or all.
export function mapOf(rows) {
  const height = rows.length;
  const width = rows[0]?.length ?? 0;
  const wrong = rows.flatMap((row, i) => range(width).filter((j) => row[j] === "#").map((j) => [i, j]));
  if (wrong.length === height * width || wrong.length === 1) return [];
  let said = saidOf(wrong, height, width);
  let lines = drawn(rows);
  const [tall, wide] = tileOf(wrong, height, width);
  if (tall !== height || wide !== width) {
    said ||= `the same in every ${height === 1 ? `${wide} elements` : `${tall} rows and ${wide} columns`}`;
    const first = drawn(rows, [Math.max(tall, ROWS), Math.max(wide, COLUMNS)]);
    if (lines.at(-1).includes("+") && !first.at(-1).includes("+")) lines = first;
  }
  return [`wrong: ${said || "no simple pattern"}`, ...lines];
}
