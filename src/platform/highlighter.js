// What the page and the worker that colours code say to each other.
export function hearHighlighter(worker, onAnswer, onEnd) {
  worker.onmessage = ({ data: { id, spans } }) => onAnswer(id, spans ?? undefined);
  worker.onerror = (event) => {
    event.preventDefault();
    onEnd();
  };
}

export function askHighlighter(worker, id, language, text) {
  worker.postMessage({ id, language, text });
}
