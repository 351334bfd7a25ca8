// Files that are made in the page and handed to the reader: pieces of bytes, a page around them, a name.
const PLAYER = new URL("../../../../player.html", import.meta.url);

export const makePieces = () => [];
// The bytes lie in the module's memory, which moves.
export const addPiece = (pieces, bytes) => { pieces.push(bytes.slice()); };
// Copied at once, for the same reason.
export const blobOfBytes = (bytes) => new Blob([bytes]);
export const blobOf = (pieces, type) => new Blob(pieces, { type });

// A page that is one file has no other to make one of.
export const canMakePages = () => !globalThis[Symbol.for("turnreel.highlighter")];

// The log stands in pieces of so many packed bytes, each with `before` and `after` around it, and `end` behind the last.
export async function makePage(log, pieceBytes, before, after, end) {
  const answer = await fetch(PLAYER);
  if (!answer.ok) throw new Error(`the player did not come: ${answer.status}`);
  const player = await answer.blob();
  const packed = await packedBytes(log);
  const texts = [player];
  for (let at = 0; at < packed.byteLength; at += pieceBytes) {
    const piece = new Uint8Array(packed, at, Math.min(pieceBytes, packed.byteLength - at));
    texts.push(before, ...base64(piece), after);
    // Of a long session they are hundreds, and a frame comes between two.
    await (globalThis.scheduler?.yield?.() ?? new Promise((go) => setTimeout(go)));
  }
  return new Blob([...texts, end], { type: "text/html" });
}

// Given piece by piece: a browser packs all that it is given in one task, and gives itself what a file has at once.
async function packedBytes(file) {
  const packing = new CompressionStream("gzip");
  const packed = new Response(packing.readable).arrayBuffer();
  const writer = packing.writable.getWriter();
  const step = 128 * 1024;
  for (let at = 0; at < file.size; at += step) {
    await writer.write(await file.slice(at, at + step).arrayBuffer());
  }
  await writer.close();
  return packed;
}

// In stretches of whole groups of three bytes, so that each is base64 by itself and all of them together are.
function base64(bytes) {
  const texts = [];
  const step = 3 * 8192;
  for (let at = 0; at < bytes.length; at += step) {
    texts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + step))));
  }
  return texts;
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser has it once the click is over; a slow one is given a minute.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
