// Nodes of prose from a buffer: elements and text nodes, made where a change says. Only a script makes many nodes
// cheaply; what the numbers mean is in chat_feed::prose::Change. Words become text nodes and checked addresses only.
const BLOCKS = new Set(["p", "div", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "pre"]);
const SIDES = ["", "side--center", "side--end"];
const CAUTIONS = [
  "",
  "Names a user before its host",
  "Its host is written with letters of other scripts",
  "Holds characters that cannot be seen",
  "Leads into your own network",
];
const carets = new WeakMap();

const make = (tag, className) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  return element;
};
// What has sides takes those of its text: a quote's bar, a list's marks, a table's columns. A block in it with a direction of
// its own would not count as its text; which way each runs is for the style.
const block = (tag, className) => {
  const element = make(tag, className);
  element.dir = "auto";
  return element;
};

const MAKERS = {
  8: () => make("p"),
  9: (level) => {
    const element = make("div", level <= 2 ? "heading heading--large" : "heading");
    element.setAttribute("role", "heading");
    // Below the prompts, which are headings of the second. The writer's own levels skip, and begin anywhere.
    element.setAttribute("aria-level", "3");
    return element;
  },
  10: () => block("blockquote"),
  11: () => block("ul"),
  13: () => make("li"),
  14: () => {
    // A wide table opens on its first column: what it scrolls in has its direction.
    const element = block("div", "table-scroller");
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", "Table");
    return element;
  },
  15: () => make("table"),
  16: () => make("thead"),
  17: () => make("tbody"),
  18: () => make("tr"),
  19: (side) => {
    const element = make("th", SIDES[side]);
    element.scope = "col";
    return element;
  },
  20: (side) => make("td", SIDES[side]),
  22: () => make("span", "code__line"),
  23: () => make("strong"),
  24: () => make("em"),
  25: () => make("del"),
  26: () => make("code"),
  27: () => make("span", "aside"),
  28: () => {
    const element = make("span", "hidden-mark");
    element.title = "A character that cannot be seen";
    return element;
  },
};
const WORDED = {
  12: (number) => {
    const element = block("ol");
    if (number !== "1") element.setAttribute("start", number);
    return element;
  },
  21: (language) => {
    const element = make("pre", "code__lines code__lines--within");
    if (language) element.dataset.language = language;
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", language ? `Code, ${language}` : "Code");
    return element;
  },
};

function link(caution, address) {
  const element = make("a", caution ? "prose-link prose-link--caution" : "prose-link");
  // It was checked where it was made; nothing else may ever come this far.
  if (/^(https?|mailto):/.test(address)) {
    element.setAttribute("href", address);
    element.target = "_blank";
    element.rel = "noopener noreferrer nofollow";
  }
  if (caution) element.title = CAUTIONS[caution];
  return element;
}

const truncate = (element, length) => {
  while (element.childNodes.length > length) element.lastChild.remove();
};

export function drawProse(root, place, codes, words, onlyText) {
  const keep = place.length - 1;
  let here = root;
  if (onlyText) {
    for (let depth = 0; depth < keep; depth += 1) here = here.childNodes[place[depth]];
    here.childNodes[place[keep] - 1].appendData(words);
    return;
  }
  const caret = carets.get(root);
  caret?.remove();
  for (let depth = 0; depth < keep; depth += 1) {
    truncate(here, place[depth] + 1);
    here = here.lastChild;
  }
  truncate(here, place[keep]);
  let at = 0;
  const take = (length) => words.slice(at, (at += length));
  for (const code of codes) {
    const kind = code & 0xff, argument = code >>> 8;
    if (kind === 0) here = here.parentNode;
    else if (kind === 1) here.append(document.createTextNode(take(argument)));
    else if (kind === 2) here.lastChild.appendData(take(argument));
    else if (kind === 3) here.append(make("br"));
    else if (kind === 4) here.append(make("hr"));
    else if (kind === 5) {
      const box = make("span", argument ? "task task--done" : "task");
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", argument ? "Done" : "To do");
      here.append(box);
    } else {
      const element = kind >= 32 ? link(kind - 32, take(argument)) : WORDED[kind] ? WORDED[kind](take(argument)) : MAKERS[kind](argument);
      here.append(element);
      here = element;
    }
  }
  if (caret) innermost(root).append(caret);
}

const innermost = (root) => {
  let here = root;
  while (here.lastChild && BLOCKS.has(here.lastChild.localName)) here = here.lastChild;
  const line = here.lastChild;
  return line?.className === "code__line" ? line : here;
};

// Shows where text is being written, or no longer.
export function setCaret(root, shown) {
  const caret = carets.get(root);
  if (shown === !!caret) return;
  if (!shown) {
    caret.remove();
    carets.delete(root);
    return;
  }
  const made = make("span", "caret");
  made.setAttribute("aria-hidden", "true");
  carets.set(root, made);
  innermost(root).append(made);
}
