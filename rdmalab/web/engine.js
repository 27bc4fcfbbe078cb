// The process of the lab, in a worker: Pyodide, the archive with the lab, the app.
// Messages in: start, key, size, focus, ground, plain, say, put, keep. Messages out: see main.js.
import { loadPyodide } from "./vendor/pyodide/pyodide.mjs";
import { AGAIN, BEGIN, IMPORT, UNPACK } from "./unpack.js";

const base = new URL("./", import.meta.url).href;
const now = () => performance.timeOrigin + performance.now();
const marks = { worker: now() };
const SNAPSHOT = `${base}snapshot`; // its name in the cache
const OPTIONS = {
  indexURL: `${base}vendor/pyodide/`,
  env: {
    HOME: "/home/lab", TERM: "xterm-256color", COLORTERM: "truecolor", TEXTUAL_ANIMATIONS: "none",
    PYTHONDONTWRITEBYTECODE: "1", PYTHONNODEBUGRANGES: "1",
  },
};
let cache = null;
let python = null;
let process = null;
let size = [80, 24];
let starts;
const started = new Promise((done) => (starts = done));
const early = [];

function send(kind, name = "", content = "", transfer = []) {
  self.postMessage({ kind, name, content }, transfer);
}

/** Calls of Python: bytes arrive as a proxy of them. */
function post(kind, name, content) {
  if (typeof content === "string") return send(kind, name, content);
  const octets = content.toJs();
  content.destroy();
  send(kind, name, octets);
}

async function fetched(name) {
  const answer = await fetch(base + name);
  if (!answer.ok) throw new Error(`${name}: the server answers ${answer.status}`);
  const whole = Number(answer.headers.get("content-length")) || 0;
  const parts = [];
  let got = 0;
  for await (const part of chunks(answer.body)) {
    parts.push(part);
    got += part.length;
    send("progress", "lab", whole ? got / whole : 0);
  }
  const octets = new Uint8Array(got);
  let at = 0;
  for (const part of parts) {
    octets.set(part, at);
    at += part.length;
  }
  return octets;
}

async function* chunks(stream) {
  const reader = stream.getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value;
}

/** The cache of this version, which sw.js removes with it; null in a sandboxed frame or a private window.
    Null in Firefox, too: there one of 70 starts from a snapshot trapped: "index out of bounds". */
async function cacheOfVersion() {
  try {
    if (!navigator.userAgentData) return null; // only the browsers of Chromium's family have it
    const { version } = await (await fetch(`${base}site.json`)).json();
    return await caches.open(`rdmalab ${base} ${version}`);
  } catch {
    return null;
  }
}

/** Python as it was after the imports of an earlier start, or null: those took half of its time. */
async function restored() {
  try {
    const kept = await cache.match(SNAPSHOT);
    if (!kept) return null;
    const memory = new Uint8Array(await kept.arrayBuffer());
    const pyodide = await import("./vendor/pyodide/pyodide.asm.mjs");
    const createPyodideModule = async (settings) => {
      const made = await pyodide.default(settings);
      made._emscripten_resize_heap(memory.length); // Pyodide copies into the 30 MiB that it begins with
      return made;
    };
    return await loadPyodide({ ...OPTIONS, createPyodideModule, _loadSnapshot: memory });
  } catch {
    return null;
  }
}

/** Keep the memory of Python for later starts; it has no reference to an object of JavaScript yet. */
function keepSnapshot() {
  try {
    const memory = python.makeMemorySnapshot();
    cache.put(SNAPSHOT, new Response(memory)).catch(() => 0); // no room: later starts import, too
  } catch { /* Pyodide says what it cannot keep */ }
}

async function load() {
  send("progress", "python", 0);
  const archive = fetched("lab.bin");
  archive.catch(() => 0); // reported below
  cache = await cacheOfVersion();
  python = cache && (await restored());
  marks.restored = python !== null;
  python ??= await loadPyodide({ ...OPTIONS, _makeSnapshot: cache !== null });
  marks.python = now();
  send("progress", "python", 1);
  python.globals.set("archive", await archive);
  marks.fetched = now();
  python.runPython(UNPACK);
  marks.unpacked = now();
  send("progress", "start", 0);
  if (marks.restored) return python.runPython(AGAIN);
  python.runPython(IMPORT);
  marks.imported = now();
  if (cache !== null) keepSnapshot();
}

async function run({ address, tab, files, lines, dark }) {
  python.globals.set("post", post);
  python.globals.set("size", () => size);
  python.globals.set("address", address);
  python.globals.set("tab", String(tab));
  python.globals.set("files", files);
  python.globals.set("lines", lines);
  python.globals.set("dark", dark);
  await python.runPythonAsync(BEGIN);
  process = python.globals.get("process");
  marks.begun = now();
  send("marks", "", { ...marks });
  const ended = python.runPythonAsync("await process.run(lines.to_py(), dark=dark)");
  early.splice(0).forEach(receive);
  await ended;
}

/** Bytes of Python. */
const octetsOf = (octets) => python.globals.get("bytes")(octets);

function receive(message) {
  if (message.kind === "size") size = message.size;
  if (process === null) {
    if (message.kind !== "size") early.push(message);
    return;
  }
  switch (message.kind) {
    case "key": return process.receive(message.text);
    case "size": return process.resize();
    case "focus": return process.focus.callKwargs({ has: message.has });
    case "ground": return process.ground.callKwargs({ dark: message.dark, chosen: message.chosen });
    case "plain": return process.plain.callKwargs({ on: message.on });
    case "say": return process.say(message.text);
    case "put": return process.put(message.name, octetsOf(message.octets));
    case "keep": return process.keep(message.name, octetsOf(message.octets), message.changed);
    case "measure": return send("measured", "", python.runPython(message.text));
  }
}

/** What the browser itself reports of an error in a worker is without Python's traceback. */
function crash(wrong) {
  if (process !== null && wrong instanceof python.ffi.PythonError) python.runPython("import sys; process.crash(sys.last_exc)");
  else send("crash", "", String(wrong?.message ?? wrong));
  cache?.delete(SNAPSHOT); // the next start owes nothing to it
  self.close(); // the app would go on, and its next frame hide the message
}

self.onmessage = ({ data }) => {
  if (data.kind === "start") {
    size = data.size;
    return starts(data);
  }
  try {
    receive(data);
  } catch (wrong) {
    crash(wrong);
  }
};

self.sooner.forEach((data) => self.onmessage({ data })); // what came while this file was loaded

try {
  await load();
  await run(await started);
} catch (wrong) {
  crash(wrong);
}
