// Puts text on the clipboard. Where a page came over plain HTTP, or may not write, the browser has no clipboard for it: then it
// is told to copy as by the keys, and is handed the text while it does. False where it does not copy so either.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {}
  const hand = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  window.addEventListener("copy", hand, true);
  try {
    return document.execCommand("copy");
  } finally {
    window.removeEventListener("copy", hand, true);
  }
}
