// Starts the player of a session that is one file: unpacks the module, the worker and the log that stand in the page, and
// asks for nothing else. The bundle in front of this gives `init`.
//
// This runs while the browser still reads the file: the module is compiled meanwhile, and the first rows are shown while
// most of the log is packed, or not even read from the disk.
const FEED = document.querySelector("agent-feed");

const part = (name) => document.querySelector(`script[data-part="${name}"]`);

// What an element holds, which is no longer in the page then.
function bytesOf(element) {
  const text = element.textContent;
  element.remove();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const chars = atob(text);
  const bytes = new Uint8Array(chars.length);
  for (let at = 0; at < chars.length; at += 1) bytes[at] = chars.charCodeAt(at);
  return bytes;
}

// Packed pieces, each given when it is asked for, as the bytes that they are.
function unpack(piece) {
  let nth = 0;
  const packed = new ReadableStream({
    async pull(controller) {
      const bytes = await piece(nth);
      nth += 1;
      if (bytes) controller.enqueue(bytes);
      else controller.close();
    },
  });
  return packed.pipeThrough(new DecompressionStream("gzip"));
}

function unpackPart(name, type) {
  const bytes = bytesOf(part(name));
  return new Response(unpack((nth) => (nth === 0 ? bytes : undefined)), { headers: { "content-type": type } });
}

// Until the browser has read more of this file.
const more = () => new Promise((go) => {
  const observer = new MutationObserver(end);
  function end() {
    observer.disconnect();
    document.removeEventListener("readystatechange", end);
    go();
  }
  observer.observe(document.body, { childList: true });
  document.addEventListener("readystatechange", end);
});

// A file that stays packed, and is unpacked each time that it is read.
class PackedLog extends Blob {
  #pieces = [];
  stream() { return unpack((nth) => this.#piece(nth)); }
  // Known when it was read.
  get size() { return 0; }

  async #piece(nth) {
    while (this.#pieces.length <= nth) {
      const element = part("log");
      const isRead = document.readyState !== "loading";
      if (element && (isRead || element.nextElementSibling)) this.#pieces.push(bytesOf(element));
      else if (isRead) return undefined;
      else await more();
    }
    return this.#pieces[nth];
  }
}

// Links name an event (#e=), or with .2 behind its id the second of its rows, or a time (#t=) of the session.
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has("t")) FEED.setAttribute("start-at", asked.get("t"));
  if (asked.has("e")) FEED.goTo(asked.get("e"));
}

FEED.addEventListener("af-session", ({ detail }) => {
  document.title = detail.title ? `${detail.title} · Turnreel` : "Turnreel";
});
FEED.addEventListener("af-select", ({ detail }) => {
  const asked = new URLSearchParams(location.hash.slice(1));
  asked.set("e", detail.name);
  history.replaceState(null, "", `#${asked}`);
});
addEventListener("hashchange", follow);
// Nothing else is here that keys could be for, also before anybody clicked. The browser scrolls what has the focus.
const SCROLLS = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];
addEventListener("keydown", (event) => {
  if (event.target !== document.body || event.defaultPrevented) return;
  if (!FEED.scroller.dispatchEvent(new KeyboardEvent(event.type, event))) event.preventDefault();
  else if (SCROLLS.includes(event.key)) FEED.focusFeed();
});

try {
  const begun = init({ module_or_path: unpackPart("module", "application/wasm") });
  const worker = await unpackPart("highlighter", "text/javascript").blob();
  // The page knows by this, too, that it is one file.
  globalThis[Symbol.for("turnreel.highlighter")] = new URL(URL.createObjectURL(worker));
  await begun;
  FEED.load([{ path: "session.events.jsonl", file: new PackedLog() }]);
  follow();
} catch (why) {
  document.body.append(`This session cannot be shown: ${why}`);
  throw why;
}
