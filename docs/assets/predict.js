// On a stage's page: what was measured beside a prediction is hidden until the reader has written a number, too.
// The browser remembers the numbers. What is folded is not asked for.
"use strict";
{
  const key = `predicted ${location.pathname.split("/").pop()}`;
  const remembered = () => JSON.parse(localStorage.getItem(key) ?? "{}");
  const remember = numbers => localStorage.setItem(key, JSON.stringify(numbers));
  const chinese = document.documentElement.lang === "zh";
  const WORDS = chinese
    ? { yours: "你的预测", you: "你", ask: "你预计是多少? 写一个数, 按 Enter, 就看到实测值。 ", all: "全部显示" }
    : { yours: "Your prediction", you: "you", ask: "What do you expect? Write a number and press Enter, then you see what was measured. ", all: "Show all" };
  const isMeasured = cell => /^(measured\b|实测)|, (measured|实测)$/.test(cell.textContent.trim());
  const make = (kind, properties, ...children) => {
    const element = Object.assign(document.createElement(kind), properties);
    element.append(...children);
    return element;
  };

  // Of a table the cells below a "measured", or to the right of it.
  const measured = table => {
    const columns = [...table.querySelectorAll("thead th, thead td")].map(isMeasured);
    return [...table.querySelectorAll("tbody td")].filter(cell =>
      /\d/.test(cell.textContent) && cell.cellIndex > 0 &&
      (columns[cell.cellIndex] || isMeasured(cell.parentNode.cells[0])));
  };

  let count = 0;
  for (const table of document.querySelectorAll("article table")) {
    const cells = table.closest("details") === null ? measured(table) : [];
    if (cells.length === 0) continue;
    const show = [];
    for (const cell of cells) {
      const id = count++, result = make("span", {}, ...cell.childNodes);
      const heads = table.tHead.rows[0].cells, row = cell.parentNode.cells[0];
      const names = [row, heads[cell.cellIndex]].map(name => name.textContent.trim()).join(", ");
      const number = make("input", { inputMode: "decimal", placeholder: "?", autocomplete: "off", ariaLabel: `${WORDS.yours}: ${names}` });
      const reveal = yours => cell.replaceChildren(result, ...(yours ? [make("small", {}, ` ${WORDS.you}: ${yours}`)] : []));
      show.push(() => { if (!cell.contains(result)) reveal(""); });
      number.addEventListener("change", () => {
        const yours = number.value.trim().replace(",", ".");
        if (yours === "" || Number.isNaN(Number(yours))) return;
        remember({ ...remembered(), [id]: yours });
        reveal(yours);
      });
      cell.classList.add("predict");
      if (id in remembered()) reveal(remembered()[id]);
      else cell.replaceChildren(number);
    }
    const button = make("button", { type: "button", onclick: () => { show.forEach(one => one()); asked.remove(); } }, WORDS.all);
    const asked = make("p", { className: "predict" }, WORDS.ask, button);
    if (table.querySelector(".predict input")) table.before(asked);
  }
}
