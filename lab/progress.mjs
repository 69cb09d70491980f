// What a reader has done, in this browser alone: as exercises/progress.json has it at the terminal,
// and the text of each solution that was begun.
const KEY = "ladder-exercises";
const NOTHING = { done: false, hints: 0, solution: false, told: false };

const everything = () => JSON.parse(localStorage.getItem(KEY) ?? '{"progress": {}, "texts": {}}');
const keep = (all) => localStorage.setItem(KEY, JSON.stringify(all));

export const progressOf = (name) => ({ ...NOTHING, ...everything().progress[name] });
export const textOf = (name) => everything().texts[name];

export function note(name, changes) {
  const all = everything();
  all.progress[name] = { ...NOTHING, ...all.progress[name], ...changes };
  keep(all);
}

export function keepText(name, text) {
  const all = everything();
  all.texts[name] = text;
  keep(all);
}

// The text of a progress.json for exercises/ in a checkout.
export const exported = () => `${JSON.stringify(everything().progress, null, 1)}\n`;
