// The element of a row and the line in it, each by one call: only a script makes many nodes cheaply. What the codes of a
// line mean is in row.rs. Words become text nodes, attributes and classes of our own; nothing else.
const SVG = "http://www.w3.org/2000/svg";
const icons = new Map();
const drawn = new WeakMap();

let plain;

// Made with the first row.
const plainRow = () => {
  const row = document.createElement("div");
  row.setAttribute("role", "article");
  row.tabIndex = 0;
  return row;
};

/** A row with attributes: names and values by turns, as long as `lengths` says. */
export function makeRow(number, lengths, words) {
  const row = (plain ??= plainRow()).cloneNode();
  let at = 0;
  const take = (length) => words.slice(at, (at += length));
  for (let nth = 0; nth < lengths.length; nth += 2) row.setAttribute(take(lengths[nth]), take(lengths[nth + 1]));
  row.afRow = number;
  return row;
}

const icon = (className, path) => {
  const key = `${className} ${path}`;
  let made = icons.get(key);
  if (!made) {
    made = document.createElementNS(SVG, "svg");
    made.setAttribute("class", className);
    made.setAttribute("viewBox", "0 0 16 16");
    made.setAttribute("aria-hidden", "true");
    made.append(document.createElementNS(SVG, "path"));
    made.firstChild.setAttribute("d", path);
    icons.set(key, made);
  }
  return made.cloneNode(true);
};

/** Draws what stands first in an element; the same again changes nothing, no codes take it out. */
export function drawLine(line, codes, words) {
  const before = drawn.get(line), key = codes.join();
  if (before) {
    if (before.words === words && before.key === key) return;
    for (const node of before.nodes) node.remove();
    drawn.delete(line);
  }
  if (!codes.length) return;
  const all = document.createDocumentFragment();
  let here = all, at = 0, className = "";
  const take = (length) => words.slice(at, (at += length));
  for (const code of codes) {
    const kind = code & 7, length = code >>> 3;
    if (kind === 0) here = here.parentNode;
    else if (kind === 1) here.append(take(length));
    else if (kind === 2) {
      const span = document.createElement("span");
      if (length) span.className = take(length);
      if (span.className === "chip") span.part = "chip";
      here.append(span);
      here = span;
    } else if (kind === 3) here.setAttribute("data-time", "");
    else if (kind === 4) className = take(length);
    else if (kind === 5) here.append(icon(className, take(length)));
    else if (kind === 6) here.title = take(length);
  }
  drawn.set(line, { words, key, nodes: [...all.childNodes] });
  line.prepend(all);
}
