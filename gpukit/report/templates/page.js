// Tables sort and download, figures download, and print shows what is folded. Without a script all of it is still there to read.
"use strict";
const words = (cell) => (cell ? cell.textContent.replace(/\s+/g, " ").trim() : "");
const amount = (text) => parseFloat(text.replace(/,(?=\d{3})/g, ""));
const numeric = /^[<>]?\s*-?[\d,]*\.?\d+(e[-+]?\d+)?( ?%)?( [±(].*)?$/;

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function button(text, label, run) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", run);
  return made;
}

function sort(table, head, place) {
  const falling = head.getAttribute("aria-sort") === "ascending";
  const rows = [...table.tBodies[0].rows];
  const texts = new Map(rows.map((row) => [row, words(row.cells[place])]));
  const numbers = rows.every((row) => texts.get(row) === "" || numeric.test(texts.get(row)));
  const order = new Intl.Collator("en", { numeric: true });
  rows.sort((a, b) => {
    const [x, y] = [texts.get(a), texts.get(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    return (falling ? -1 : 1) * (numbers ? amount(x.replace(/^[<>]\s*/, "")) - amount(y.replace(/^[<>]\s*/, "")) : order.compare(x, y));
  });
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

// A spreadsheet computes what begins with = + - or @, and a name on this page may be anything: an apostrophe makes it text.
const harmless = (text) => /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;

for (const table of document.querySelectorAll("main table")) {
  const name = words(table.caption) || table.parentElement.getAttribute("aria-label") || "table";
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const title = words(head);
    head.replaceChildren(button(title, `Sort by ${title}`, () => sort(table, head, place)));
  });
  const csv = () => [...table.rows].map((row) => [...row.cells].map((cell) => `"${harmless(words(cell)).replace(/"/g, '""')}"`).join(",")).join("\r\n") + "\r\n";
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(button("CSV", `Download as CSV: ${name}`, () => save(`${table.id || name.slice(0, 60)}.csv`, "text/csv", csv())));
  table.parentElement.prepend(tools);
}

for (const figure of document.querySelectorAll("main figure")) {
  const label = figure.getAttribute("aria-label");
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(button("SVG", `Download as SVG: ${label}`, () => {
    const style = getComputedStyle(document.documentElement);
    const copy = figure.querySelector("svg").cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const text = new XMLSerializer().serializeToString(copy).replace(/var\((--[\w-]+)\)/g, (_, key) => style.getPropertyValue(key).trim().replace(/"/g, "'"));
    save(`${label.slice(0, 60)}.svg`, "image/svg+xml", text);
  }));
  figure.append(tools);
}

// What is folded is printed, and opened where a link leads into it.
const opened = [];
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details:not([open])")) { one.open = true; opened.push(one); } });
addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
