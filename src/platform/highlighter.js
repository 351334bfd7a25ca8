// Starts the worker that colours code: only where the page has the origin that this script comes from, for a worker
// cannot be started from another one. Its address is constant; the policy lets no other pass.
const ADDRESS = new URL("../../../../highlighter.js", import.meta.url);
let policy;

export function startHighlighter(onAnswer, onEnd) {
  try {
    if (ADDRESS.origin !== location.origin) return undefined;
    policy ??= globalThis.trustedTypes?.createPolicy("agent-feed", {
      createScriptURL: (asked) => {
        if (asked !== ADDRESS.href) throw new TypeError("not the address of the worker");
        return asked;
      },
    });
    const worker = new Worker(policy ? policy.createScriptURL(ADDRESS.href) : ADDRESS.href);
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
