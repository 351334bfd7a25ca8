// What the page and the worker that reads logs say to each other. This is the worker's own script, too: it runs a program
// that is made for reading alone. The build names it here, beside the page's; a page that was built without one reads by
// itself.
const PROGRAM = "";
const ASKED = Symbol.for("turnreel.asked");
const said = [];
let hear = (what) => said.push(what);

if (globalThis.document === undefined) {
  onmessage = async ({ data }) => {
    onmessage = ({ data }) => hear(data);
    globalThis[ASKED] = data;
    try {
      const program = await import(data.script);
      await program.default();
    } catch (why) {
      // The page hears of it, and goes on by itself.
      reportError(why);
    }
  };
}

// The page.

export function hasReader() {
  return PROGRAM !== "";
}

export function askReader(worker, asked, onTold, onEnd) {
  worker.onmessage = ({ data: { bytes, kept, blob } }) => onTold(bytes, kept, blob);
  worker.onerror = (event) => {
    event.preventDefault();
    onEnd();
  };
  // The page says its own script: both programs are of one build then, or the worker's is not found.
  asked.script = new URL(PROGRAM, asked.page).href;
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
