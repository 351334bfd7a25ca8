// Starts the worker that colours code: only where the page has the origin that this script comes from, for a worker
// cannot be started from another one. A page that is one file brings the worker with it. Its address is constant; the
// policy lets no other pass.
const OWN = new URL("../../../../highlighter.js", import.meta.url);
const BROUGHT = Symbol.for("turnreel.highlighter");
let address;
let policy;

export function startHighlighter(onAnswer, onEnd) {
  try {
    address ??= globalThis[BROUGHT] ?? (OWN.origin === location.origin ? OWN : undefined);
    if (!address) return undefined;
    policy ??= globalThis.trustedTypes?.createPolicy("agent-feed", {
      createScriptURL: (asked) => {
        if (asked !== address.href) throw new TypeError("not the address of the worker");
        return asked;
      },
    });
    const worker = new Worker(policy ? policy.createScriptURL(address.href) : address.href);
    worker.onmessage = ({ data: { id, spans } }) => onAnswer(id, spans ?? undefined);
    worker.onerror = (event) => {
      event.preventDefault();
      onEnd();
    };
    return worker;
  } catch {
    return undefined;
  }
}

export function askHighlighter(worker, id, language, text) {
  worker.postMessage({ id, language, text });
}

export function endHighlighter(worker) {
  worker.onmessage = worker.onerror = null;
  worker.terminate();
}
