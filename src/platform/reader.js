// What the page and the worker that reads logs say to each other. This is the worker's own script, too: it runs the
// page's program once more, which sees by what it was asked for that it is no page.
const ASKED = Symbol.for("turnreel.asked");
const said = [];
let hear = (what) => said.push(what);

if (globalThis.document === undefined) {
  onmessage = async ({ data }) => {
    onmessage = ({ data }) => hear(data);
    globalThis[ASKED] = data;
    try {
      const program = await import(data.script);
      await program.default({ module_or_path: data.module });
    } catch (why) {
      // The page hears of it, and goes on by itself.
      reportError(why);
    }
  };
}

// The page.

export function askReader(worker, asked, onTold, onEnd) {
  worker.onmessage = ({ data: { bytes, kept, blob } }) => onTold(bytes, kept, blob);
  worker.onerror = (event) => {
    event.preventDefault();
    onEnd();
  };
  worker.postMessage(asked);
}

export function sayToReader(worker, what) {
  worker.postMessage(what);
}

// The worker.

export function asked() {
  return globalThis[ASKED];
}

export function tellPage(bytes, kept, blob) {
  postMessage({ bytes, kept, blob }, [bytes.buffer, kept.buffer]);
}

export function hearPage(onSaid) {
  hear = onSaid;
  said.splice(0).forEach(hear);
}
