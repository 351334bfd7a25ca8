// Starts workers: only where the page has the origin that this script comes from, for a worker cannot be started from
// another one, and not in a page that is one file, but for what that brings with it. The addresses are constant; the
// policy lets no other pass.
// The build names here what reads long logs. A page that was built without it reads by itself.
const READER = "";
const BROUGHT = Symbol.for("turnreel.highlighter");
let policy;

const own = (path) => {
  const address = new URL(path, import.meta.url);
  return address.origin === location.origin ? address.href : undefined;
};
const ADDRESSES = {
  highlighter: () => globalThis[BROUGHT]?.href ?? own("../../../../highlighter.js"),
  reader: () => (globalThis[BROUGHT] ? undefined : READER && own(`../../../../${READER}`)),
};

export function startWorker(name) {
  try {
    const address = ADDRESSES[name]();
    if (!address) return undefined;
    policy ??= globalThis.trustedTypes?.createPolicy("agent-feed", {
      createScriptURL: (asked) => {
        if (!Object.values(ADDRESSES).some((address) => address() === asked)) throw new TypeError("not the address of a worker");
        return asked;
      },
    });
    const type = name === "reader" ? "module" : "classic";
    return new Worker(policy ? policy.createScriptURL(address) : address, { type });
  } catch {
    return undefined;
  }
}

export function endWorker(worker) {
  worker.onmessage = worker.onerror = null;
  worker.terminate();
}
