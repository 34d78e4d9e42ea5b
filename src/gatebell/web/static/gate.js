// Keeps pages fresh, saves drafts, and adds keys.

const WAKE = 100;
const DRAFT_AFTER = 500;
const FLEETING = 20_000;
const ENTRIES = ".entry a[id^=go-]";
const skew = Date.parse(document.body.dataset.now) - Date.now();
// The newest event that this page shows; after a newer one the page reloads.
let seen = Number(document.body.dataset.seq);
// What this page shows besides asks: "runs", "tasks", the name of one run, or nothing.
const { hears } = document.body.dataset;
const find = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];

// ---- Ages and countdowns -------------------------------------------------------------------

function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (whole >= size) return `${Math.floor(whole / size)}${unit}`;
  }
  return `${whole}s`;
}

function countdown(seconds) {
  let rest = Math.max(0, Math.floor(seconds));
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`);
    else if (parts.length) break;
    rest %= size;
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

// Times in the reader's own zone; without a script they are in UTC, and say so.
function localise(inside) {
  for (const time of inside.querySelectorAll("time[data-clock], time[title]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const shown = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    if (time.title) time.title = shown;
    if ("clock" in time.dataset) time.textContent = shown;
  }
}

function tick() {
  const now = Date.now() + skew;
  const show = (time, text) => { if (time.textContent !== text) time.textContent = text; };
  for (const time of all("time[data-age]")) {
    const seconds = (now - Date.parse(time.dateTime)) / 1000;
    show(time, time.dataset.age !== "ago" ? span(seconds) : seconds < 10 ? "just now" : `${span(seconds)} ago`);
  }
  for (const time of all("time[data-left]")) show(time, countdown((Date.parse(time.dateTime) - now) / 1000));
}

// ---- Staying fresh -------------------------------------------------------------------------

let refreshing = false;
let again = false;
let soon = 0;

function refreshSoon() {
  // Not later for every further event: where agents are busy, that would be never.
  soon ||= setTimeout(refresh, WAKE);
}

async function refresh() {
  soon = 0;
  if (refreshing) { again = true; return; }
  refreshing = true;
  try {
    const response = await fetch(document.body.dataset.page || location.href.split("#")[0], { headers: { accept: "text/html" } });
    if (response.status === 401) say("logged out: reload", true);
    else if (response.ok) merge(new DOMParser().parseFromString(await response.text(), "text/html"));
  } catch {
    // The server is away; the stream says so, and this is done again when it is back.
  } finally {
    refreshing = false;
    if (again) { again = false; refreshSoon(); }
  }
}

function merge(fresh) {
  document.title = fresh.title;
  // The first ask after a while: it opens, unless a person is looking for something else.
  if (find("welcome") && fresh.querySelector("article.ask")) return location.replace("/");
  // A run began to wait for an answer. Its form needs this script from the start.
  if (!find("answer") && fresh.querySelector(".run-ask #answer") && !all("input, textarea").some(isTyped)) {
    return location.replace(document.body.dataset.page);
  }
  localise(fresh);
  seen = Number(fresh.body.dataset.seq);
  for (const old of all("[data-live]")) {
    const made = fresh.getElementById(old.id);
    if (made && !old.isEqualNode(made)) replace(old, made);
  }
  const form = find("answer");
  if (form && fresh.getElementById("answer")?.dataset.ask !== form.dataset.ask) end(form);
  tick();
}

const isTyped = (field) => field.value !== field.defaultValue;

function replace(old, made) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const named = focused?.closest("a[id], details[id] > summary");
  if (focused && !named) return;
  // Typed text is never removed.
  if ([...old.querySelectorAll("input, textarea")].some(isTyped)) return;
  const name = (one, at) => one.id || at;
  const open = new Map([...old.querySelectorAll("details")].map((one, at) => [name(one, at), one.open]));
  [...made.querySelectorAll("details")].forEach((one, at) => { one.open = open.get(name(one, at)) ?? one.open; });
  old.replaceWith(made);
  if (!named) return;
  const same = named.id ? find(named.id) : find(named.parentElement.id)?.querySelector("summary");
  same?.focus({ preventScroll: true });
}

function end(form) {
  // Another answer settled it: nothing can be sent any more, and typed text is not removed.
  form.classList.add("over");
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  const typed = [...form.querySelectorAll("textarea, input[type=text], input[type=password]")].some(isTyped);
  const kept = find("kept");
  if (kept) kept.textContent = `Settled elsewhere while you were here.${typed ? " Your text is still here. It was not sent." : ""}`;
  for (const past of all("#answering, .withdraw")) past.remove();
}

function say(words, away) {
  const live = find("live");
  live.hidden = false;
  live.classList.toggle("away", away);
  if (live.textContent !== words) live.textContent = words;
}

// A browser has six connections for one place, and a seventh tab would wait for ever. So one
// tab that can be seen listens, and tells the others.
const others = new BroadcastChannel("gatebell");
let state = null;
let newest = 0;
let letGo = null;
let asking = null;

function concerns(subject) {
  // Of runs and tasks, which change all the time, only pages that show them want to hear.
  if (typeof subject !== "string") return false;
  const kind = subject.startsWith("run:") ? "runs" : subject.startsWith("tm-") ? "tasks" : "";
  return !kind || hears === kind || hears === subject;
}

function report(message) {
  if (message.state) {
    const back = state === "reconnecting…" && message.state === "live";
    state = message.state;
    say(state, state !== "live");
    if (back) refreshSoon();
  }
  if (concerns(message.changed) || message.newest > seen) refreshSoon();
}

function tell(message) {
  report(message);
  others.postMessage(message);
}

others.onmessage = ({ data }) => {
  if (!data.who) report(data);
  else if (letGo && state) others.postMessage({ state, newest });
};

function listen() {
  if (asking) return;
  asking = new AbortController();
  others.postMessage({ who: true });
  navigator.locks.request("gatebell-events", { signal: asking.signal }, hold).catch(() => {});
}

function hold() {
  return new Promise((done) => {
    let stream = null;
    let retry = 0;
    const open = () => {
      stream = new EventSource("/api/events/stream");
      stream.addEventListener("hello", ({ lastEventId }) => {
        newest = Number(lastEventId);
        tell({ state: "live", newest });
      });
      stream.onmessage = ({ lastEventId, data }) => {
        newest = Number(lastEventId);
        tell({ changed: JSON.parse(data).subject });
      };
      stream.onerror = () => {
        tell({ state: "reconnecting…" });
        // After an error page the browser gives up by itself; we do not.
        if (stream.readyState === EventSource.CLOSED) retry = setTimeout(open, 2000);
      };
    };
    letGo = () => {
      clearTimeout(retry);
      stream.close();
      letGo = null;
      done();
    };
    open();
  });
}

function stopListening() {
  letGo?.();
  asking?.abort();
  asking = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return stopListening();
  listen();
  refreshSoon();
});
addEventListener("pagehide", stopListening);
addEventListener("pageshow", (event) => { if (event.persisted) { listen(); refreshSoon(); } });

// ---- Drafts --------------------------------------------------------------------------------

const answer = find("answer");
let unsaved = 0;

function keep() {
  clearTimeout(unsaved);
  unsaved = 0;
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(answer)) {
    if (!("secret" in answer.dataset) || name === "csrf" || name === "seal") body.append(name, value);
  }
  return fetch(`/asks/${answer.dataset.ask}/draft`, { method: "POST", body, keepalive: body.toString().length < 60_000 });
}

async function keepNow() {
  try {
    const kept = (await keep()).ok;
    find("kept").textContent = !kept ? "This draft could not be kept."
      : "secret" in answer.dataset ? "" : "Draft kept.";
  } catch {
    find("kept").textContent = "Not kept yet: the server is away.";
    unsaved = setTimeout(keepNow, 2000);
  }
}

const pickFor = (one) => { if (one.dataset.picks && one.value) find(one.dataset.picks).checked = true; };

if (answer?.dataset.ask) {
  // A person can type before this script runs.
  for (const one of all("[data-picks]")) if (one.value !== one.defaultValue) pickFor(one);
  answer.addEventListener("input", ({ target }) => {
    pickFor(target);
    if (target.id === "all-alike") for (const one of all("[name=also]")) one.checked = target.checked;
    if (target.name === "also" && find("all-alike")) find("all-alike").checked = all("[name=also]").every((one) => one.checked);
    if (answer.classList.contains("over")) return;
    clearTimeout(unsaved);
    unsaved = setTimeout(keepNow, DRAFT_AFTER);
  });
  // Enter on a choice would press a button.
  answer.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input")) event.preventDefault();
  });
  answer.addEventListener("submit", (event) => {
    // Half a date is no value, so it would be lost without a word.
    const half = event.submitter?.value === "given" && all("input").find((one) => one.validity.badInput);
    if (half) {
      event.preventDefault();
      half.reportValidity();
      return;
    }
    clearTimeout(unsaved);
    unsaved = 0;
  });
  addEventListener("pagehide", () => { if (unsaved) keep().catch(() => {}); });
}

// ---- Dates with a time -----------------------------------------------------------------------

const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");

// A moment for the field of a browser, which has no zone; empty if the field cannot hold it.
function atHome(text) {
  const at = new Date(text);
  if (!/^\d{4}-.*T.*(Z|[+-]\d\d:\d\d)$/i.test(text) || Number.isNaN(at.getTime()) || at % 60_000) return "";
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

// The same moment with the reader's zone on that day, as the answer holds it.
function withZone(local) {
  if (!local) return "";
  const east = -new Date(local).getTimezoneOffset();
  return `${local}:00${east < 0 ? "-" : "+"}${two(east / 60)}:${two(east % 60)}`;
}

for (const text of all("[data-moment]")) {
  const shown = atHome(text.value);
  // What a person typed and is no moment stays as it is.
  if (text.value && !shown) continue;
  const picker = document.createElement("input");
  picker.type = "datetime-local";
  picker.defaultValue = shown;
  if (picker.value !== shown) continue;
  for (const name of ["id", "aria-describedby", "aria-invalid", "aria-required"]) {
    if (!text.hasAttribute(name)) continue;
    picker.setAttribute(name, text.getAttribute(name));
    text.removeAttribute(name);
  }
  picker.addEventListener("input", () => { text.value = withZone(picker.value); });
  text.hidden = true;
  text.after(picker);
  const hint = picker.parentElement.querySelector(".hint");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (hint) hint.textContent = hint.textContent.replace(text.dataset.moment, `in your time zone, ${zone}`);
}

// ---- The answer bar ------------------------------------------------------------------------

// Its panels close like menus: by a click elsewhere, and by Escape.
const panels = () => all(".bar details[open]");

document.addEventListener("click", ({ target }) => {
  for (const one of panels()) if (!one.contains(target)) one.open = false;
});
document.addEventListener("keydown", (event) => {
  const [one] = panels();
  if (event.key !== "Escape" || !one) return;
  one.open = false;
  one.querySelector("summary").focus();
});
for (const one of all(".bar details")) {
  one.addEventListener("toggle", () => {
    if (one.open) one.querySelector("textarea")?.focus({ preventScroll: true });
  });
}

// ---- Keys ----------------------------------------------------------------------------------

function move(by) {
  const entries = all(ENTRIES).filter((one) => one.checkVisibility());
  if (!entries.length) return;
  const current = entries.findIndex((one) => one === document.activeElement);
  const shown = current < 0 ? entries.findIndex((one) => one.ariaCurrent === "true") : current;
  const next = shown < 0 ? (by > 0 ? 0 : entries.length - 1) : shown + by;
  entries[Math.min(entries.length - 1, Math.max(0, next))].focus();
}

function field(inside) {
  return inside?.querySelector("input:not([type=hidden]), textarea, select");
}

function show(element) {
  if (!element) return;
  const closed = element.closest("details:not([open])");
  if (closed) closed.open = true;
  element.focus();
  if (!element.closest(".bar")) element.scrollIntoView({ block: "center" });
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  o: () => document.activeElement.matches(ENTRIES) && document.activeElement.click(),
  a: () => show(document.querySelector("[data-key=a]") ?? field(find("answer-field"))),
  r: () => show(document.querySelector("[data-key=r]") ?? find("back")),
  u: () => { location.href = document.querySelector(".up, .back a")?.href ?? "/?list"; },
  "/": () => {
    const search = find("q");
    if (search.offsetParent) show(search);
    else location.href = "/history";
  },
  "?": () => find("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || find("keys").open) return;
  if (event.target.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]")) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// --------------------------------------------------------------------------------------------

find("keys-button").hidden = false;
find("keys-button").addEventListener("click", () => find("keys").showModal());
find("problem")?.focus();
localise(document);
const chosen = document.querySelector(".list [aria-current]");
if (chosen) find("side").scrollTop = chosen.offsetTop - find("side").clientHeight / 2;
tick();
setInterval(tick, 1000);
setInterval(() => { if (!document.hidden && document.querySelector("[data-fleeting]")) refreshSoon(); }, FLEETING);
if (!document.hidden) listen();

// ---- The installed app ---------------------------------------------------------------------

// With and without notifications: its service worker has the page for times without a connection.
if (matchMedia("(display-mode: standalone)").matches) await navigator.serviceWorker?.register("/sw.js");
