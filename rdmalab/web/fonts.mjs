// fonts.mjs MODULES_DIR WORK_DIR FONT...: each font with the letters that the lab prints, and those
// of Latin names; for any other letter the browser takes a font of the system.
// Made: WORK_DIR/fonts/, with the same names. The same fonts make the same bytes.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const LETTERS = [
  [0x20, 0x17f], // Latin
  [0x391, 0x3c9], // Greek: units, and what Δ and σ stand for
  [0x2010, 0x203f], // dashes, quotes, ellipsis
  [0x2190, 0x21ff], [0x2200, 0x2265], [0x2300, 0x23ff], // arrows, signs, keys
  [0x2500, 0x25ff], // frames, bars, shapes
  [0x20ac, 0x20ac], [0x2713, 0x2718], [0xfffd, 0xfffd],
];

const [modules, work, ...names] = process.argv.slice(2).map((each) => path.resolve(each));
const subset = createRequire(path.join(modules, "here.js"))("subset-font");
const text = LETTERS.flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, n) => String.fromCodePoint(first + n))).join("");
await mkdir(path.join(work, "fonts"), { recursive: true });
for (const name of names) {
  const cut = await subset(await readFile(name), text, { targetFormat: "woff2" });
  await writeFile(path.join(work, "fonts", path.basename(name)), cut);
}
