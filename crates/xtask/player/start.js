// Starts the player of a session that is one file: unpacks the module, the worker and the log that stand in the page, and
// asks for nothing else. The bundle in front of this gives `init`.
const FEED = document.querySelector("agent-feed");

function bytesOf(element) {
  const text = element.textContent;
  element.remove();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const chars = atob(text);
  const bytes = new Uint8Array(chars.length);
  for (let at = 0; at < chars.length; at += 1) bytes[at] = chars.charCodeAt(at);
  return bytes;
}

// What stands in the page under this name, in as many pieces as there are.
function unpack(name, type) {
  const pieces = Array.from(document.querySelectorAll(`script[data-part="${name}"]`), bytesOf);
  const unpacked = new Blob(pieces).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked, { headers: { "content-type": type } });
}

// Links name an event (#e=) or a time (#t=) of the session.
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has("t")) FEED.setAttribute("start-at", asked.get("t"));
  if (asked.has("e")) FEED.goTo(asked.get("e"));
}

FEED.addEventListener("af-session", ({ detail }) => {
  document.title = detail.title ? `${detail.title} – Turnreel` : "Turnreel";
});
FEED.addEventListener("af-select", ({ detail }) => {
  const asked = new URLSearchParams(location.hash.slice(1));
  asked.set("e", detail.eventId);
  history.replaceState(null, "", `#${asked}`);
});
addEventListener("hashchange", follow);

try {
  const log = unpack("log", "application/x-ndjson").blob();
  const worker = await unpack("highlighter", "text/javascript").blob();
  // The page knows by this, too, that it is one file.
  globalThis[Symbol.for("turnreel.highlighter")] = new URL(URL.createObjectURL(worker));
  await init({ module_or_path: unpack("module", "application/wasm") });
  FEED.load(new File([await log], "session.events.jsonl"));
  follow();
} catch (why) {
  document.body.append(`This session cannot be shown: ${why}`);
  throw why;
}
