// The page: a terminal, its controls, what is kept, what is handed out. It knows nothing of RDMA.
import { FitAddon } from "./vendor/xterm/addon-fit.mjs";
import { Unicode11Addon } from "./vendor/xterm/addon-unicode11.mjs";
import { Terminal } from "./vendor/xterm/xterm.mjs";
import { fileNameOf, linesOf } from "./links.js";
import { Store } from "./store.js";

const at = (id) => document.getElementById(id);
const base = new URL("./", location.href).href;
const marks = { script: performance.now() };
const MOST_DROPPED = 1 << 20; // bytes of a file that is dropped on the page
const MOST_LINES = 500; // of the transcript
const ESCAPE = "\x1b";

// ---------------------------------------------------------------- choices that this browser keeps
const choices = {
  get(name, otherwise) {
    try {
      return localStorage.getItem(`rdmalab-${name}`) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`rdmalab-${name}`, value);
    } catch { /* a sandboxed frame: the choice is that of this page */ }
  },
};

// ---------------------------------------------------------------- the terminal
const terminal = new Terminal({
  allowProposedApi: true,
  cursorInactiveStyle: "none",
  fontFamily: '"Lab Mono", "DejaVu Sans Mono", monospace',
  fontSize: Number(choices.get("size", 14)),
  lineHeight: 1.1, // at 1.0 the lower edge of underscores is cut off
  macOptionIsMeta: true,
  scrollback: 0,
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.loadAddon(new Unicode11Addon());
terminal.unicode.activeVersion = "11";

const COLOURS = {
  dark: { background: "#0e1420", foreground: "#e8edf7", cursor: "#e8edf7" },
  light: { background: "#fcfcfa", foreground: "#171c26", cursor: "#171c26" },
};
const system = matchMedia("(prefers-color-scheme: light)");
const isDark = () => ({ dark: true, light: false })[at("theme").value] ?? !system.matches;

function takeTheme(chosen = false) {
  const theme = isDark() ? "dark" : "light";
  document.documentElement.dataset.theme = theme;
  terminal.options.theme = COLOURS[theme];
  tell({ kind: "ground", dark: isDark(), chosen });
}

// F5 and other keys are the lab's; F10 leaves the terminal; F11, F12 and Ctrl+Shift are the browser's.
terminal.attachCustomKeyEventHandler((event) => {
  if (event.key === "F10") {
    if (event.type === "keydown") at("smaller").focus();
    event.preventDefault();
    return false;
  }
  return !["F11", "F12"].includes(event.key) && !(event.ctrlKey && event.shiftKey);
});

// ---------------------------------------------------------------- the process
let worker = null;
let running = 0;

function begin() {
  worker?.terminate();
  running += 1;
  // A worker, so that the page keeps 60 frames a second during a run: without one it has 27. From a
  // blob, because such a worker has the policy of this page; one from a file has its own.
  // import(): for a static import Firefox asks no service worker, so that it failed without a network.
  const source = `self.sooner = []; self.onmessage = ({ data }) => sooner.push(data); await import(${JSON.stringify(`${base}engine.js`)});`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  worker = new Worker(address, { type: "module" });
  worker.onmessage = ({ data }) => receive[data.kind]?.(data);
  worker.onerror = (wrong) => receive.crash({ content: wrong.message ?? "engine.js, or a file that it imports, could not be loaded" });
}

const tell = (message) => worker?.postMessage(message);
const STAGES = { python: ["Loading Python", 0, 0.45], lab: ["Loading the lab", 0.1, 0.6], start: ["Starting the lab", 0.75, 0.25] };
let shown = 0;

const receive = {
  out({ content }) {
    marks.first ??= performance.now();
    terminal.write(content, () => {
      marks.painted ??= performance.now();
      marks.last = performance.now();
    });
    if (!at("over").hidden) {
      at("over").hidden = true;
      terminal.focus();
    }
  },
  progress({ name, content }) {
    const [text, from, part] = STAGES[name];
    at("title").textContent = text;
    shown = Math.max(shown, from + part * content);
    at("progress").value = shown;
  },
  append: ({ name, content }) => store.append(name, content),
  keep: ({ name, content }) => store.keep(name, content),
  amend: ({ name, content }) => store.amend(name, content),
  drop: ({ name }) => store.drop(name),
  file: ({ name, content }) => download(name, content),
  copy: ({ content }) => copy(content),
  link({ name, content }) {
    history.replaceState(null, "", `#${name}`);
    copy(content);
  },
  line({ content }) {
    const line = document.createElement("p");
    line.textContent = content;
    const transcript = at("transcript");
    const isAtEnd = transcript.scrollTop + transcript.clientHeight >= transcript.scrollHeight - 8;
    transcript.append(line);
    while (transcript.childElementCount > MOST_LINES) transcript.firstChild.remove();
    if (isAtEnd) transcript.scrollTop = transcript.scrollHeight;
  },
  marks: ({ content }) => Object.assign(marks, { worker: content }),
  measured: ({ content }) => (page.measured = content),
  end({ content }) {
    if (content === "0") over("The session has ended", "Its lines are kept in this browser: continue restores them.");
    else receive.crash({ content: `exit code ${content}` });
  },
  crash: ({ content }) =>
    over("The lab has stopped", "Its lines are kept in this browser. Begin again, then continue restores them.", content),
};

function over(title, text, detail = "") {
  at("title").textContent = title;
  at("text").textContent = text;
  at("progress").hidden = true;
  at("detail").hidden = !detail;
  at("detail").textContent = detail;
  at("begin").hidden = at("over").hidden = false;
  at("begin").focus();
}

async function beginAgain() {
  history.replaceState(null, "", location.pathname + location.search);
  begin();
  terminal.reset();
  shown = 0;
  at("begin").hidden = at("detail").hidden = true;
  at("progress").hidden = at("over").hidden = false;
  at("text").textContent = at("detail").textContent = "";
  await start([]);
}

async function start(lines) {
  const number = running;
  const files = await store.claim();
  if (number !== running) return; // begun again meanwhile
  const size = [terminal.cols, terminal.rows];
  tell({ kind: "start", address: location.origin + location.pathname, tab: store.tab, files, lines, size, dark: isDark() });
  tell({ kind: "plain", on: document.body.classList.contains("plain") });
}

// ---------------------------------------------------------------- what leaves the page
function download(name, octets) {
  page.handed.push([name, octets.length]);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([octets], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function copy(text) {
  page.copied = text;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    notify("The browser did not let the page copy by itself.", text);
  }
}

function notify(text, copied = "") {
  at("notice").hidden = false;
  at("notice").firstElementChild.textContent = text;
  at("copy").hidden = !copied;
  at("copy").onclick = () => navigator.clipboard?.writeText(copied).then(hideNotice, () => prompt("Copy this text", copied));
}

function hideNotice() {
  at("notice").hidden = true;
  terminal.focus();
}

async function fillScreen() {
  if (document.fullscreenElement) return document.exitFullscreen();
  try {
    await document.documentElement.requestFullscreen();
    terminal.focus();
  } catch {
    notify("The browser did not let the page fill the screen. Click Full screen once more, or press F11.");
  }
}

// OSC 52: a selection that Textual copies.
terminal.parser.registerOscHandler(52, (data) => {
  const octets = Uint8Array.from(atob(data.slice(data.indexOf(";") + 1)), (character) => character.charCodeAt(0));
  copy(new TextDecoder().decode(octets));
  return true;
});

// ---------------------------------------------------------------- controls
function press(id, name) {
  const isOn = at(id).getAttribute("aria-pressed") !== "true";
  at(id).setAttribute("aria-pressed", isOn);
  choices.set(name, isOn ? "on" : "off");
  return isOn;
}

function resizeLetters(by) {
  terminal.options.fontSize = Math.min(30, Math.max(8, terminal.options.fontSize + by));
  choices.set("size", terminal.options.fontSize);
  requestAnimationFrame(() => fit.fit()); // xterm.js measures a letter first
}

function showPlain(isOn) {
  document.body.classList.toggle("plain", isOn);
  tell({ kind: "plain", on: isOn });
  fit.fit();
}

function showKeys(isOn) {
  at("keys").hidden = !isOn;
  fit.fit();
}

const KEYS = [
  ["Esc", ESCAPE], ["Tab", "\t"], ["^C", "\x03", "stop"], ["F1", `${ESCAPE}OP`, "help"], ["F4", `${ESCAPE}OS`, "why"],
  ["F6", `${ESCAPE}[17~`, "pane"], ["F7", `${ESCAPE}[18~`, "back"], ["F8", `${ESCAPE}[19~`, "go on"], ["F9", `${ESCAPE}[20~`, "run"],
  ["←", `${ESCAPE}[D`], ["↑", `${ESCAPE}[A`], ["↓", `${ESCAPE}[B`], ["→", `${ESCAPE}[C`], ["Enter", "\r"],
];
for (const [name, text, about] of KEYS) {
  const button = document.createElement("button");
  button.textContent = name;
  if (about) button.append(Object.assign(document.createElement("small"), { textContent: about }));
  button.addEventListener("pointerdown", (event) => event.preventDefault()); // the terminal keeps the focus
  button.addEventListener("click", () => tell({ kind: "key", text }));
  at("keys").append(button);
}

function wire() {
  at("smaller").onclick = () => resizeLetters(-1);
  at("larger").onclick = () => resizeLetters(1);
  at("plain").onclick = () => showPlain(press("plain", "plain"));
  at("keyboard").onclick = () => showKeys(press("keyboard", "keys"));
  at("again").onclick = at("begin").onclick = beginAgain;
  at("close").onclick = hideNotice;
  at("full").hidden = !document.fullscreenEnabled;
  at("full").onclick = fillScreen;
  at("theme").value = choices.get("theme", "system");
  at("theme").onchange = () => {
    choices.set("theme", at("theme").value);
    takeTheme(true);
  };
  system.addEventListener("change", () => takeTheme());
  if (choices.get("plain", "off") === "on") showPlain(press("plain", "plain"));
  const isTouched = matchMedia("(pointer: coarse)").matches ? "on" : "off";
  if (choices.get("keys", isTouched) === "on") showKeys(press("keyboard", "keys"));
  terminal.onData((text) => tell({ kind: "key", text }));
  terminal.onBinary((text) => tell({ kind: "key", text }));
  terminal.onResize(({ cols, rows }) => {
    // The rows of the alternate screen stay as long as they were, and their ends are drawn.
    if (terminal.buffer.active.type === "alternate") terminal.write(`${ESCAPE}[?1049l${ESCAPE}[?1049h`);
    tell({ kind: "size", size: [cols, rows] });
  });
  addEventListener("focus", () => tell({ kind: "focus", has: true }));
  addEventListener("blur", () => tell({ kind: "focus", has: false }));
  addEventListener("hashchange", () => linesOf(location.hash).forEach((text) => tell({ kind: "say", text })));
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", take);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && at("controls").contains(document.activeElement)) terminal.focus();
  });
}

/** A scenario or a lab that is dropped on the page: it is loaded. */
async function take(event) {
  event.preventDefault();
  for (const file of event.dataTransfer.files) {
    if (file.size > MOST_DROPPED) notify(`${fileNameOf(file.name)} is larger than 1 MiB, so that it is no scenario.`);
    else tell({ kind: "put", name: fileNameOf(file.name), octets: new Uint8Array(await file.arrayBuffer()) });
  }
}

function keepForOffline() {
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register("sw.js").catch((wrong) => console.warn("not kept for use without a network:", wrong));
  navigator.serviceWorker.ready.then(() => (at("offline").textContent = "Works offline")); // it has all files
}

// ---------------------------------------------------------------- the start
const page = (window.page = { terminal, marks, handed: [], copied: "", measured: null, tell, fit });
const store = new Store();

async function main() {
  begin();
  const opened = store.open();
  const fonts = [document.fonts.load('14px "Lab Mono"'), document.fonts.load('bold 14px "Lab Mono"')];
  await Promise.all(fonts).catch(() => 0);
  terminal.open(at("terminal")); // measures a letter: the font must be there
  wire();
  takeTheme();
  fit.fit();
  new ResizeObserver(() => fit.fit()).observe(at("terminal"));
  await opened;
  store.onshared = (name, octets) => tell({ kind: "keep", name, octets, changed: Date.now() });
  if (store.trouble) notify(`Nothing is kept in this window: ${store.trouble}`);
  await start(linesOf(location.hash));
  setTimeout(keepForOffline, 3000);
}

if (!window.cannotRun) main().catch((wrong) => receive.crash({ content: String(wrong?.message ?? wrong) }));
