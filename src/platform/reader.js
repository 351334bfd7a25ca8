// What the page and the worker that reads logs say to each other. It stands in the page's script and in the worker's, which
// is that of the program that reads: there it begins that program once the page has said what to read.
let told;
const said = [];
let hear = (what) => said.push(what);

if (globalThis.document === undefined) {
  onmessage = async ({ data }) => {
    onmessage = ({ data }) => hear(data);
    told = data;
    try {
      // The script around this, as the browser has it already.
      const program = await import(location.href);
      await program.default();
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
  return told;
}

export function tellPage(bytes, kept, blob) {
  postMessage({ bytes, kept, blob }, [bytes.buffer, kept.buffer]);
}

export function hearPage(onSaid) {
  hear = onSaid;
  said.splice(0).forEach(hear);
}
