// Lines of a diff from a buffer, and colours in code blocks. What codes mean is in chat_feed::diff_list::Strokes. Words become text nodes,
// classes of our own, and attributes that style sheets show; nothing else.

// Who copies lines loses those without text: there it is a line break, which is no higher.
const isEmptyLine = ({ className, lastChild }) =>
  (!lastChild || lastChild.className === "diff__sign") && className.startsWith("diff__line") && !className.endsWith("--none");

export function drawLines(root, codes, words) {
  let here = root;
  let at = 0;
  const take = (length) => words.slice(at, (at += length));
  const enter = (tag, length) => {
    const element = document.createElement(tag);
    element.className = take(length);
    here.append(element);
    here = element;
    return element;
  };
  root.textContent = "";
  for (const code of codes) {
    const kind = code & 0xff, length = code >>> 8;
    if (kind === 0) {
      if (isEmptyLine(here)) here.append("\n");
      here = here.parentNode;
    } else if (kind === 1) here.append(take(length));
    else if (kind === 2) enter("div", length);
    else if (kind === 3) enter("span", length);
    else if (kind === 4) here.setAttribute("data-numbers", take(length));
    else if (kind === 5) here.setAttribute("data-number", take(length));
    else if (kind === 6) enter("button", length).type = "button";
    else if (kind === 7) here.setAttribute("data-file", take(length));
    else if (kind === 8) here.setAttribute("data-widen", take(length));
    else if (kind === 9) here.setAttribute("aria-hidden", "true");
  }
}

const linesOf = (block) => block.querySelectorAll(":scope > .code__line");

// All but the last of a block end in a line break, for who copies them.
const lineText = (text) => text.replace(/\n$/, "");
export const codeText = (block) => Array.from(linesOf(block), (line) => lineText(line.textContent)).join("\n");

// Puts coloured spans into lines of code that are one text node each; others are left as they are. `spans` is
// [line, start, length, class] of each, in UTF-16 units.
export function colourLines(block, text, spans, classes) {
  const lines = linesOf(block);
  const expected = text.split("\n");
  for (let first = 0; first < spans.length; ) {
    const line = spans[first];
    let end = first;
    while (end < spans.length && spans[end] === line) end += 4;
    const element = lines[line], own = element?.firstChild;
    if (own && own === element.lastChild && own.nodeType === Node.TEXT_NODE && lineText(own.data) === expected[line]) {
      const parts = [];
      let at = 0;
      for (let each = first; each < end; each += 4) {
        const start = spans[each + 1], length = spans[each + 2];
        if (start > at) parts.push(own.data.slice(at, start));
        const span = document.createElement("span");
        span.className = classes[spans[each + 3]];
        span.append(own.data.slice(start, start + length));
        parts.push(span);
        at = start + length;
      }
      if (at < own.data.length) parts.push(own.data.slice(at));
      element.replaceChildren(...parts);
    }
    first = end;
  }
}
