// Opened once, the lab works without a network. A new version replaces the old one as a whole.
const OURS = `rdmalab ${self.registration.scope} `; // other folders of this host have their own
const CACHE = `${OURS}VERSION`;

async function install() {
  const { files } = await (await fetch("site.json", { cache: "no-cache" })).json();
  const cache = await caches.open(CACHE);
  const names = ["./", "site.json", ...Object.keys(files)];
  await cache.addAll(names.map((name) => new Request(name, { cache: "no-cache" })));
  await self.skipWaiting();
}

async function activate() {
  const names = (await caches.keys()).filter((name) => name.startsWith(OURS) && name !== CACHE);
  await Promise.all(names.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request, { ignoreSearch: true })) ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  if (new URL(event.request.url).origin === location.origin) event.respondWith(answer(event.request));
});
