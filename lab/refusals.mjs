// Why a solution is not even compiled: scripts/ladder/exercises/refusals.py, in the page. `words` is
// grader.json, with the patterns and reasons from there.

const whole = (pattern) => new RegExp(`^(?:${pattern})$`);
const COMMENTS_AND_TEXT = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|(\w['"])|'(?:\\.|[^'\\\n])'/g;
const TOKEN = /[A-Za-z_]\w*|\d[\w.]*|::|\S/g;

// The reason with its line; "" if it may be compiled.
export function refusal(words, text) {
  const spelling = new RegExp(words.spellings).exec(text);
  if (spelling !== null) return `line ${text.slice(0, spelling.index).split("\n").length}: spliced lines and other spellings of characters are refused`;
  let isJoined = false;
  const code = text.replace(COMMENTS_AND_TEXT, (found, joined) => {
    isJoined ||= joined !== undefined;
    return found.replace(/[^\n]/g, " ");
  });
  if (isJoined) return "a quotation mark behind a letter or a digit is refused";
  const originals = text.split("\n");
  const tokens = [];
  for (const [i, line] of code.split("\n").entries()) {
    if (!/^\s*#/.test(line)) tokens.push(...(line.match(TOKEN) ?? []).map((token) => ({ token, line: i + 1 })));
    else if (!/^\s*#\s*include\s*"exercise\.h"\s*(\/\/.*)?$/.test(originals[i]) && !/^\s*#\s*pragma\s+(once|unroll)\b/.test(line))
      return `line ${i + 1}: \`${originals[i].trim()}\`: only #include "exercise.h" and #pragma unroll`;
  }
  return refusedToken(words, tokens);
}

function refusedToken(words, tokens) {
  const reasons = new Map(Object.entries(words.refused).flatMap(([reason, names]) => names.split(" ").map((name) => [name, reason])));
  const hostNames = whole(words.hostNames);
  const cuda = whole(words.cuda);
  const at = (i) => tokens[i]?.token;
  let depth = 0;
  for (const [i, { token, line }] of tokens.entries()) {
    const where = `line ${line}: \`${token}\`: `;
    if (reasons.has(token)) return where + reasons.get(token);
    if (hostNames.test(token)) return `${where}functions of the host`;
    if (token.startsWith("_") && !cuda.test(token)) return `${where}names that begin with an underscore are the compiler's${meant(words, token)}`;
    if ("\\$@`".includes(token)) return `${where}no such character in a kernel`;
    if (token === "[" && at(i + 1) === "[") return `line ${line}: \`[[\`: attributes are refused`;
    if (token === "<" && at(i + 1) === "<" && at(i + 2) === "<") return `line ${line}: \`<<<\`: the grader launches the kernel`;
    if (token === "static") {
      const following = tokens.slice(i + 1, i + 4).map((t) => t.token).filter((t) => t !== "const" && t !== "void");
      if (!words.notState.includes(following[0])) return `${where}state between launches`;
    }
    depth += (token === "{") - (token === "}");
    if (depth < 0) return `${where}closes what it has not opened`;
  }
  return depth > 0 ? "`{`: is never closed" : "";
}

// The usual name that has at most a quarter of its letters otherwise.
function meant(words, token) {
  const distance = (a, b) => {
    let row = [...Array(b.length + 1).keys()];
    for (const [i, letter] of [...a].entries()) {
      const next = [i + 1];
      for (const [j, other] of [...b].entries()) next.push(Math.min(row[j] + (letter !== other), row[j + 1] + 1, next[j] + 1));
      row = next;
    }
    return row.at(-1);
  };
  const close = words.usual.map((name) => ({ name, far: distance(token, name) })).filter(({ name, far }) => far <= name.length / 4);
  close.sort((a, b) => a.far - b.far);
  return close.length > 0 ? `; is \`${close[0].name}\` meant?` : "";
}
