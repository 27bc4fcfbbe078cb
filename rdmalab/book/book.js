// The search of the book. Its index is a script, because a page of file:// may not request a file.
(() => {
  "use strict";
  const MOST = 50;
  const field = document.getElementById("q");
  const list = document.getElementById("hits");
  const count = document.getElementById("count");
  const results = document.getElementById("results");
  const root = document.body.dataset.root;
  let loading = false;

  const normal = (text) => text.toLowerCase().replaceAll("ibv_wc_", "").replaceAll("ibv_", "");

  // The index is read at the first search, not with each page.
  const load = () => {
    if (loading) return;
    loading = true;
    const script = document.createElement("script");
    script.src = root + "search.js";
    script.onload = () => {
      for (const row of window.rdmalabIndex) {
        row.push(normal(row[1]), normal(row.join(" ")));
      }
      search();
    };
    document.head.append(script);
  };

  // 0 is best: the title itself, its beginning, a word in it, the other text.
  const rank = (row, words, whole) => {
    const [, , , , title, text] = row;
    if (!words.every((word) => text.includes(word))) return -1;
    if (title === whole) return 0;
    if (title.startsWith(whole)) return 1;
    if (words.every((word) => title.includes(word))) return 2;
    return 3;
  };

  const entry = (row) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const kind = document.createElement("small");
    link.href = root + row[0];
    link.textContent = row[1] + " ";
    kind.textContent = row[2];
    link.append(kind);
    item.append(link);
    return item;
  };

  const search = () => {
    const whole = normal(field.value.trim());
    const words = whole.split(/\s+/).filter(Boolean);
    results.hidden = !words.length;
    if (!words.length) return;
    load();
    if (!window.rdmalabIndex) return;
    const found = window.rdmalabIndex
      .map((row) => [rank(row, words, whole), row])
      .filter(([place]) => place >= 0)
      .sort(([a], [b]) => a - b);
    count.textContent = found.length === 1 ? "1 found" : `${found.length} found`;
    if (found.length > MOST) count.textContent += `, the first ${MOST} are shown`;
    list.replaceChildren(...found.slice(0, MOST).map(([, row]) => entry(row)));
  };

  const hide = () => { results.hidden = true; };
  const step = (by) => {
    const links = [field, ...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    links[Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
  };

  field.addEventListener("input", search);
  field.addEventListener("focus", () => { load(); search(); });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  list.addEventListener("click", hide);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("header")) hide();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape" && !results.hidden) {
      hide();
      field.focus();
      hide();
    } else if (!results.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    }
  });

  // The lab, when it is asked for. Its page needs an origin for its modules, worker and storage; a
  // sandbox that has the origin of this page would be none.
  const frame = ({ target: part }) => {
    if (!part.open || part.querySelector("iframe")) return;
    const lab = document.createElement("iframe");
    lab.title = "The lab with this lesson";
    lab.allow = "clipboard-write; fullscreen";
    lab.src = part.querySelector("a").href;
    if (new URL(lab.src).origin !== location.origin) {
      lab.sandbox = "allow-scripts allow-same-origin allow-downloads";
    }
    part.append(lab);
  };
  for (const part of document.querySelectorAll("details.try")) {
    part.addEventListener("toggle", frame);
    frame({ target: part }); // it may have been opened before this script came
  }

  // A printed page shows what is folded away, except what only repeats a drawing or the file.
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not(.twin, .source, .try)")) part.open = true;
  });

  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    field.value = asked;
    search();
  }
})();
