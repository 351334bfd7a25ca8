// Colours code: a text and its language in, spans of classes out. `cargo xtask` puts the highlighter and its grammars
// in front of this; without them `highlighter` is undefined and every text stays plain.
//
// Only the tree of the result is read. The highlighter's HTML is never used.
"use strict";

// The numbers of chat_feed::syntax::Class; 0 is plain.
const PLAIN = 0, KEYWORD = 1, STRING = 2, NUMBER = 3, COMMENT = 4, ATTRIBUTE = 5, REGEXP = 6, FUNCTION = 7, TYPE = 8,
  CONSTANT = 9, OPERATOR = 10, TAG = 11, PUNCTUATION = 12;

// By scope, its first part, or the whole of it where that says more. What is not named is as what it stands in.
const CLASSES = new Map(Object.entries({
  keyword: KEYWORD, "variable.language": KEYWORD, "template-tag": KEYWORD,
  string: STRING, code: STRING, formula: STRING, link: STRING, addition: STRING,
  number: NUMBER, "char.escape": NUMBER,
  comment: COMMENT, quote: COMMENT, doctag: COMMENT,
  meta: ATTRIBUTE, attr: ATTRIBUTE, attribute: ATTRIBUTE, property: PLAIN,
  "selector-id": ATTRIBUTE, "selector-class": ATTRIBUTE, "selector-attr": ATTRIBUTE, "selector-pseudo": ATTRIBUTE,
  regexp: REGEXP,
  title: FUNCTION, section: FUNCTION, function: FUNCTION,
  "title.class": TYPE, class: TYPE, type: TYPE, built_in: TYPE,
  literal: CONSTANT, symbol: CONSTANT, "variable.constant": CONSTANT, "template-variable": CONSTANT,
  operator: OPERATOR, bullet: OPERATOR, deletion: OPERATOR,
  name: TAG, "selector-tag": TAG,
  tag: PUNCTUATION, punctuation: PUNCTUATION,
  subst: PLAIN, variable: PLAIN, params: PLAIN,
}));

function classOf(scope, around) {
  if (!scope) return around;
  for (let name = scope; name; name = name.slice(0, Math.max(0, name.lastIndexOf(".")))) {
    const found = CLASSES.get(name);
    if (found !== undefined) return found;
  }
  return around;
}

// [start, length, class] of each coloured stretch, in order, in UTF-16 units.
function spansOf(root) {
  const spans = [];
  let at = 0;
  const walk = (node, around) => {
    if (typeof node === "string") {
      const last = spans.length - 3;
      if (around && last >= 0 && spans[last + 2] === around && spans[last] + spans[last + 1] === at) {
        spans[last + 1] += node.length;
      } else if (around) {
        spans.push(at, node.length, around);
      }
      at += node.length;
      return;
    }
    const here = classOf(node.scope, around);
    for (const child of node.children) walk(child, here);
  };
  walk(root, PLAIN);
  return Uint32Array.from(spans);
}

self.onmessage = ({ data: { id, language, text } }) => {
  let spans = null;
  try {
    if (typeof highlighter !== "undefined" && highlighter.getLanguage(language)) {
      const result = highlighter.highlight(text, { language, ignoreIllegals: true });
      spans = spansOf(result._emitter.rootNode);
    }
  } catch {
    // A grammar that fails leaves the text plain.
  }
  self.postMessage({ id, spans }, spans ? [spans.buffer] : []);
};
// From here on a text has its own time limit; until here all of this was read.
self.postMessage({ id: 0, spans: null });
