// Signs this browser up for notifications.

const section = document.getElementById("device");
const [on, test, off, said] = ["device-on", "device-test", "device-off", "device-said"].map((id) => document.getElementById(id));
const known = section.dataset.devices.split(" ");
const say = (words) => { said.textContent = words; };

const able = isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

async function register() {
  await navigator.serviceWorker.register("/sw.js");
  return navigator.serviceWorker.ready;
}

async function find() {
  const registration = await navigator.serviceWorker.getRegistration();
  return await registration?.pushManager.getSubscription() ?? null;
}

function decode(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (one) => one.charCodeAt(0));
}

function hasKey(subscription) {
  const key = new Uint8Array(subscription.options.applicationServerKey ?? []);
  return key.toString() === decode(section.dataset.key).toString();
}

async function name(subscription) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subscription.endpoint));
  return `d-${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("").slice(0, 10)}`;
}

let own = "";

function show(id) {
  own = id;
  on.hidden = Boolean(id);
  test.hidden = off.hidden = !id;
}

async function post(path, form, more = {}) {
  // The data of a form: that way it gets its seal.
  const body = new FormData(form);
  for (const [key, value] of Object.entries(more)) body.set(key, value);
  const response = await fetch(path, { method: "POST", body, headers: { accept: "text/html" } });
  if (response.ok) return response;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  throw new Error(page.querySelector("main p")?.textContent.trim() || `the server answered ${response.status}`);
}

async function start() {
  // Before anything else is awaited: a browser asks for permission only right after a click.
  if (await Notification.requestPermission() !== "granted") throw new Error("Notifications are blocked: allow them for this site in the browser.");
  const registration = await register();
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: decode(section.dataset.key) });
  const { endpoint, keys: { p256dh, auth } } = subscription.toJSON();
  try {
    const response = await post("/devices", on, { endpoint, p256dh, auth });
    show((await response.json()).id);
  } catch (error) {
    await subscription.unsubscribe();
    throw error;
  }
  say("This device gets a notification when something waits for you.");
}

async function stop() {
  await post(`/devices/${own}/remove`, off);
  await (await find())?.unsubscribe();
  show("");
  say("This device gets no more notifications.");
}

async function check() {
  await post(`/devices/${own}/test`, test);
  say("Sent. It should appear in a few seconds.");
}

function act(form, work) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button:not([hidden])");
    button.disabled = true;
    say("…");
    try {
      await work();
    } catch (error) {
      say(`Not done: ${error.message}`);
    } finally {
      button.disabled = false;
    }
  });
}

if (able) {
  act(on, start);
  act(test, check);
  act(off, stop);
  const subscription = await find();
  const id = subscription ? await name(subscription) : "";
  const isOurs = subscription && known.includes(id) && hasKey(subscription);
  // Another person signed it up, it was removed elsewhere, or the store has a new key.
  if (subscription && !isOurs) await subscription.unsubscribe();
  show(isOurs ? id : "");
  section.hidden = false;
}
