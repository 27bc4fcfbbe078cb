// What the address and dropped files say becomes a part of a line: names are cut to safe letters.
const LONGEST_WORD = 200_000; // characters of a shared session
const LONGEST_NAME = 120;

/** The lines with which the lab begins: of #scenario=NAME, #lab=NAME[&student=ID], #rdmalab:2:WORD. */
export function linesOf(hash) {
  let text;
  try {
    text = decodeURIComponent(hash.replace(/^#/, "")).trim();
  } catch {
    return [];
  }
  const word = text.replace(/\s/g, "");
  if (/^rdmalab:\d+:[\w-]+=*$/.test(word) && word.length <= LONGEST_WORD) return [`open ${word}`];
  const asked = new URLSearchParams(text);
  const scenario = nameOf(asked.get("scenario"));
  if (scenario) return [`load "${scenario}"`];
  const lab = nameOf(asked.get("lab"));
  if (!lab) return [];
  if (lab === "tour") return ["tour"];
  const student = (asked.get("student") ?? "").replace(/[^\w.@-]/g, "").slice(0, LONGEST_NAME);
  const path = lab.includes("/") ? lab : `labs/${lab}`;
  return [`load "${path}"${student ? ` student="${student}"` : ""}`];
}

/** A short name of a scenario: no absolute path, no parent folder. */
function nameOf(text) {
  const name = (text ?? "").replace(/[^\w./-]/g, "").slice(0, LONGEST_NAME);
  return name.startsWith("/") || name.split("/").includes("..") ? "" : name;
}

/** The name of a file that is dropped on the page, without its folder. */
export function fileNameOf(text) {
  const name = text.split(/[/\\]/).pop().replace(/[^\w.-]/g, "_").replace(/^\.+/, "").slice(-LONGEST_NAME);
  return name || "dropped.yaml";
}
