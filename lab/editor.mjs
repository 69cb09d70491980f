// The editor: CodeMirror, with notes and messages below lines of the code.
import { Decoration, EditorState, EditorView, HighlightStyle, LanguageDescription, StateEffect, StateField, WidgetType, basicSetup, defaultHighlightStyle, languages, syntaxHighlighting } from "./editor/index.js";

// The site's colours, which are dark or light, in the place of CodeMirror's.
const COLOURS = { "#404740": "comment", "#708": "keyword", "#219": "constant", "#164": "number", "#a11": "string", "#00f": "function", "#085": "keyword", "#940": "comment" };
const colours = HighlightStyle.define(defaultHighlightStyle.specs.map((spec) => ({
  ...spec,
  color: COLOURS[spec.color] === undefined ? "inherit" : `var(--md-code-hl-${COLOURS[spec.color]}-color)`,
})));

class Words extends WidgetType {
  constructor(style, text) {
    super();
    Object.assign(this, { style, text });
  }
  eq(other) {
    return other.text === this.text && other.style === this.style;
  }
  toDOM() {
    return Object.assign(document.createElement("div"), { className: this.style, textContent: this.text });
  }
}

const replace = StateEffect.define();
const marks = StateField.define({
  create: () => Decoration.none,
  update(all, transaction) {
    const given = transaction.effects.find((effect) => effect.is(replace));
    return given === undefined ? all.map(transaction.changes) : given.value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// {text(), set(text), mark(lines)}. `lines`: [{line, notes, messages}], of which notes are {words, dear};
// what is marked moves with its line. `onChange` is called after each change by the reader.
export async function makeEditor(parent, text, label, onChange) {
  const language = await LanguageDescription.matchLanguageName(languages, "C++").load();
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        basicSetup, syntaxHighlighting(colours), language, marks,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
      ],
    }),
  });
  const mark = (lines) => {
    const known = lines.filter(({ line }) => line <= view.state.doc.lines);
    const ranges = known.flatMap(({ line, notes, messages }) => {
      const { from, to } = view.state.doc.line(line);
      const below = (style, words) => Decoration.widget({ widget: new Words(style, words), side: 1, block: true }).range(to);
      return [
        ...(messages.length > 0 ? [Decoration.line({ class: "lab-found" }).range(from)] : []),
        ...messages.map((words) => below("lab-message", words)),
        ...notes.map(({ words, dear }) => below(dear ? "lab-note lab-dear" : "lab-note", words)),
      ];
    });
    const first = known.find(({ messages }) => messages.length > 0) ?? known[0];
    const scroll = first === undefined ? [] : [EditorView.scrollIntoView(view.state.doc.line(first.line).from, { y: "center" })];
    view.dispatch({ effects: [replace.of(Decoration.set(ranges, true)), ...scroll] });
  };
  return {
    text: () => view.state.doc.toString(),
    set: (changed) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: changed } }),
    mark,
  };
}
