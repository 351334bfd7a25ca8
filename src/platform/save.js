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

// A page on its way: the player, and the log, packed.
export async function beginPage(log) {
  const answer = await fetch(PLAYER);
  if (!answer.ok) throw new Error(`the player did not come: ${answer.status}`);
  const player = await answer.blob();
  const packed = await packedBytes(log);
  return { texts: [player], packed };
}
export const packedLength = ({ packed }) => packed.length;

// The log stands in pieces of so many packed bytes, each with `before` and `after` around it, and `end` behind the last.
export const addPagePiece = ({ texts, packed }, at, pieceBytes, before, after) => {
  texts.push(before, ...base64(packed.subarray(at, at + pieceBytes)), after);
};
export const endPage = ({ texts }, end) => new Blob([...texts, end], { type: "text/html" });

// Whoever writes and whoever reads hears of it when packing fails: both are waited for.
async function packedBytes(file) {
  const packing = new CompressionStream("gzip");
  const packed = new Response(packing.readable).arrayBuffer();
  const [bytes] = await Promise.all([packed, write(file, packing.writable.getWriter())]);
  return new Uint8Array(bytes);
}

// Given piece by piece: a browser packs all that it is given in one task, and gives itself what a file has at once.
async function write(file, writer) {
  const step = 128 * 1024;
  try {
    for (let at = 0; at < file.size; at += step) {
      await writer.write(await file.slice(at, at + step).arrayBuffer());
    }
    await writer.close();
  } catch (why) {
    // Else what is read of it would never end. Where packing failed it has ended.
    await writer.abort(why).catch(() => {});
    throw why;
  }
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
