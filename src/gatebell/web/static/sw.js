// Shows notifications, sends the decision of their buttons, and has a page for a time without a
// connection. It keeps that page and files that are the same for everybody: never an ask, and
// never a page of a person.

const KEPT = "gatebell-1";
const FILES = ["/offline", "/static/gate.css", "/static/icon.svg", "/static/seal.js"];
const ASK = /^a-[2-9a-z]{1,40}$/;

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const kept = await caches.open(KEPT);
    await kept.addAll(FILES.map((path) => new Request(path, { cache: "reload", credentials: "omit" })));
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name !== KEPT) await caches.delete(name);
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  // From the server whenever it answers; nothing of an answer is kept.
  if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => find("/offline")));
  else if (FILES.includes(pathname)) event.respondWith(fetch(request).catch(() => find(pathname)));
});

async function find(path) {
  const kept = await caches.open(KEPT);
  return (await kept.match(path)) ?? Response.error();
}

self.addEventListener("push", (event) => event.waitUntil(receive(event)));

async function receive(event) {
  const message = read(event);
  if (message.type === "close") {
    for (const shown of await self.registration.getNotifications({ tag: message.tag })) shown.close();
    return;
  }
  const { title, body, tag } = message;
  const buttons = message.approved && message.rejected;
  await self.registration.showNotification(title, {
    body,
    tag,
    renotify: true,
    icon: "/static/icon-192.png",
    data: message,
    actions: buttons ? [{ action: "approved", title: "Approve" }, { action: "rejected", title: "Reject" }] : [],
  });
}

function read(event) {
  try {
    const message = event.data.json();
    if (typeof message.tag === "string") return message;
  } catch {
    // Not ours; a browser wants to see a notification for each message.
  }
  return { type: "note", tag: "unknown", title: "gatebell", body: "Open the inbox." };
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const message = event.notification.data ?? {};
  const token = message[event.action];
  const decides = ["approved", "rejected"].includes(event.action) && typeof token === "string";
  event.waitUntil(decides ? decide(message, event.action, token) : open(message));
});

async function decide(message, decision, token) {
  const { title, detail } = await send(new URLSearchParams({ device: message.device, ask: message.ask, decision, token }));
  // Without the tokens: a click only opens the ask.
  const data = { type: "said", ask: message.ask };
  await self.registration.showNotification(title, { body: detail, tag: message.tag, silent: true, icon: "/static/icon-192.png", data });
}

async function send(body) {
  const lost = "The inbox cannot be reached. Open the ask later, and look whether it is decided.";
  try {
    const response = await fetch("/push/answer", { method: "POST", body, redirect: "error" });
    if (response.status === 401) return { title: "Not recorded", detail: "You are signed out: open the inbox, and sign in." };
    const { detail } = await response.json().catch(() => ({ detail: `The server answered ${response.status}: open the ask.` }));
    return { title: response.status === 201 ? "Recorded" : "Not recorded", detail: String(detail) };
  } catch {
    return { title: "Perhaps not recorded", detail: lost };
  }
}

async function open(message) {
  // Only a page of our own, whatever the message says.
  const path = ASK.test(message.ask) ? `/asks/${message.ask}` : "/";
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = windows.find((one) => new URL(one.url).pathname === path);
  await (there ? there.focus() : self.clients.openWindow(path));
}
