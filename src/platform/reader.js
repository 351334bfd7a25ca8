// What the page and the worker that reads logs say to each other. This is the worker's own script, too: it runs the
// page's program once more, which sees by what it was asked for that it is no page.
const ASKED = Symbol.for("turnreel.asked");

if (globalThis.document === undefined) {
  onmessage = async ({ data }) => {
    onmessage = null;
    globalThis[ASKED] = data;
    const program = await import(data.script);
    await program.default({ module_or_path: data.module });
  };
}

// The page.

export function askReader(worker, asked, onTold, onEnd) {
  worker.onmessage = ({ data }) => onTold(new Uint8Array(data));
  worker.onerror = (event) => {
    event.preventDefault();
    onEnd();
  };
  worker.postMessage(asked);
}

export function askReaderAgain(worker) {
  worker.postMessage(undefined);
}

// The worker.

export function asked() {
  return globalThis[ASKED];
}

export function tellPage(bytes) {
  postMessage(bytes.buffer, [bytes.buffer]);
}

export function onAskedAgain(again) {
  onmessage = () => {
    onmessage = null;
    again();
  };
}
