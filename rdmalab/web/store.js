// What outlives the page: files of the lab in IndexedDB, as pieces that are appended, each with the
// tab that writes it. A tab that is open holds a Web Lock of its name, so that no other tab takes
// its session for one that was interrupted.
const NAME = "rdmalab";
const SESSIONS = ".state/sessions/";
const lockOf = (tab) => `${NAME}-tab-${tab}`;

function result(request) {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
}

function joined(pieces) {
  const octets = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.octets.length, 0));
  pieces.reduce((at, piece) => (octets.set(piece.octets, at), at + piece.octets.length), 0);
  return octets;
}

/** The number of this tab; without Web Locks that of the window, which a reload keeps. */
function tabNumber() {
  const fresh = crypto.getRandomValues(new Uint32Array(1))[0] % 1e9;
  if (navigator.locks) return fresh;
  const before = Number(sessionStorage.getItem(NAME)) || fresh;
  sessionStorage.setItem(NAME, before);
  return before;
}

export class Store {
  /** trouble: why nothing is kept, or empty. onshared: called with files of another tab. */
  constructor() {
    this.trouble = "";
    this.onshared = () => {};
    this.database = null;
  }

  async open() {
    try {
      this.tab = tabNumber();
      await this.hold();
      const wish = indexedDB.open(NAME, 1);
      wish.onupgradeneeded = () =>
        wish.result.createObjectStore("pieces", { autoIncrement: true }).createIndex("name", "name");
      this.database = await result(wish);
      this.database.onversionchange = () => this.database.close();
      this.channel = new BroadcastChannel(NAME);
      this.channel.onmessage = ({ data }) => this.onshared(data.name, data.octets);
    } catch (wrong) { // a sandboxed frame, a private window
      this.tab ??= 1;
      this.trouble = String(wrong?.message ?? wrong);
    }
    return this;
  }

  /** Hold the lock of this tab until the page is left. */
  hold() {
    if (!navigator.locks) return undefined;
    return new Promise((held) => {
      navigator.locks.request(lockOf(this.tab), () => {
        held();
        return new Promise((release) => addEventListener("pagehide", release, { once: true }));
      });
    });
  }

  /** The files for this tab: all but the session logs of other open tabs. They belong to it now. */
  async claim() {
    if (this.database === null) return new Map();
    if (!navigator.locks) return this.taken(new Set([this.tab]));
    return navigator.locks.request(`${NAME}-claim`, async () => this.taken(await this.closed()));
  }

  /** This tab and those that are closed: their locks are free. Firefox has no locks.query in a frame of another site. */
  async closed() {
    const values = await result(this.database.transaction("pieces").objectStore("pieces").getAll());
    const tabs = [...new Set(values.map((piece) => piece.tab))];
    const areClosed = await Promise.all(tabs.map((tab) => tab === this.tab ||
      navigator.locks.request(lockOf(tab), { ifAvailable: true }, (lock) => lock !== null)));
    return new Set(tabs.filter((_, n) => areClosed[n]));
  }

  async taken(closed) {
    const pieces = this.database.transaction("pieces", "readwrite").objectStore("pieces");
    const [keys, values] = await Promise.all([result(pieces.getAllKeys()), result(pieces.getAll())]);
    const files = Map.groupBy(values.map((value, n) => ({ ...value, key: keys[n] })), (piece) => piece.name);
    const mine = new Map();
    for (const [name, of] of files) {
      if (name.startsWith(SESSIONS) && !closed.has(of[0].tab)) continue;
      const octets = joined(of);
      const changed = Math.max(...of.map((piece) => piece.changed));
      mine.set(name, { octets, changed });
      for (const piece of of) pieces.delete(piece.key);
      pieces.add({ name, tab: this.tab, octets, changed });
    }
    return mine;
  }

  write(change) {
    if (this.database === null) return;
    const writing = this.database.transaction("pieces", "readwrite", { durability: "strict" });
    writing.onabort = () => (this.trouble = String(writing.error?.message ?? "the storage is full"));
    change(writing.objectStore("pieces"));
  }

  append(name, octets) {
    this.write((pieces) => {
      pieces.add({ name, tab: this.tab, octets, changed: Date.now() });
      pieces.transaction.commit(); // without a turn of the loop
    });
  }

  keep(name, octets) {
    this.replace(name, (pieces) => pieces.add({ name, tab: this.tab, octets, changed: Date.now() }));
    if (!name.startsWith(SESSIONS)) this.channel?.postMessage({ name, octets });
  }

  /** Other content, and the date that the file had. */
  amend(name, octets) {
    this.replace(name, (pieces, before) =>
      pieces.add({ name, tab: this.tab, octets, changed: Math.max(0, ...before.map((piece) => piece.changed)) }));
  }

  drop(name) {
    this.replace(name, () => {});
  }

  replace(name, then) {
    this.write((pieces) => {
      const before = [];
      pieces.index("name").openCursor(name).onsuccess = ({ target: { result: at } }) => {
        if (at === null) return then(pieces, before);
        before.push(at.value);
        at.delete();
        at.continue();
      };
    });
  }
}
