// The chat in a browser. What is on the page is always what the server says is stored; a stream only
// shows it sooner, as text, and gives way to the server's page when it ends.

import { events } from "/static/events.js";
import { lock } from "/static/forms.js";

const LOOK_EVERY = 2000;
const LOOK_PATIENCE = 10_000;

const main = document.getElementById("main");
const words = JSON.parse(main.dataset.words);
const csrf = document.querySelector("meta[name=csrf]").content;
const thread = document.getElementById("thread");
const live = document.getElementById("live");
const composer = document.getElementById("composer");
const field = document.getElementById("text");
const reply = document.getElementById("reply");

let conversation = main.dataset.conversation;
let tag = "";
let atWork = false;
let signedOut = false;

const ask = (path, options = {}) =>
  fetch(path, {
    ...options,
    redirect: "error",
    headers: { "X-Requested-With": "fetch", "X-CSRF-Token": csrf, ...options.headers },
  });

// -- telling ------------------------------------------------------------------------------------

function announce(text) {
  live.textContent = "";
  requestAnimationFrame(() => (live.textContent = text));
}

function tell(text, link) {
  if (!reply) return announce(text);
  reply.hidden = false;
  const told = document.getElementById("reply-text");
  told.textContent = text;
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = `/sign-in?next=${encodeURIComponent(location.pathname)}`;
    anchor.textContent = link;
    told.append(" ", anchor);
  }
}

function tellNothing() {
  if (reply) reply.hidden = true;
}

function endSignIn() {
  signedOut = true;
  tell(words.signedOut, words.signIn);
}

function element(name, className, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

function bubble(role, name, text) {
  const item = element("li", `message ${role}`);
  const head = element("p", "name");
  head.append(element("span", "speaker", name));
  const said = element("div", "said");
  const plain = element("div", "plain", text);
  said.append(plain);
  item.append(head, said);
  document.getElementById("messages").append(item);
  return { item, plain, said };
}

const atEnd = () => document.documentElement.scrollHeight - window.innerHeight - window.scrollY < 160;
const toEnd = () => window.scrollTo(0, document.documentElement.scrollHeight);

// -- what is stored -----------------------------------------------------------------------------

// Puts the server's page in place and leaves alone what has not changed: a selection stays, and focus does.
function put(html) {
  const next = new DOMParser().parseFromString(`<div>${html}</div>`, "text/html").body.firstChild;
  const focused = document.activeElement?.id;
  const stays = atEnd();
  const old = document.getElementById("messages");
  const fresh = next.querySelector("#messages");
  if (old && fresh) {
    const known = new Map([...old.children].map((child) => [child.id, child]));
    const kept = [...fresh.children].map((child) => {
      const before = known.get(child.id);
      return before && child.id && before.outerHTML === child.outerHTML ? before : document.adoptNode(child);
    });
    old.replaceChildren(...kept);
    fresh.replaceWith(old);
  }
  const now = document.getElementById("now");
  const then = next.querySelector("#now");
  if (now && then && now.outerHTML === then.outerHTML) then.replaceWith(now);
  thread.replaceChildren(...next.childNodes);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  if (stays) toEnd();
}

async function look({ quiet = false } = {}) {
  if (!conversation || signedOut) return;
  const response = await ask(`/chat/${conversation}/thread`, {
    headers: tag ? { "If-None-Match": tag } : {},
    // An answer that never comes, as over a connection that went silent, must not be the last look.
    signal: AbortSignal.timeout(LOOK_PATIENCE),
  });
  if (response.status === 401) return endSignIn();
  if (response.status === 304 || !response.ok) return;
  const first = !tag;
  const before = document.getElementById("now")?.dataset.status;
  const count = document.querySelectorAll("#messages > li[id]").length;
  put(await response.text());
  tag = response.headers.get("ETag");
  const after = document.getElementById("now")?.dataset.status;
  const more = document.querySelectorAll("#messages > li[id]").length > count;
  // What was told of a state that is over is true no more.
  if (before !== after && !quiet) tellNothing();
  if (!first && !quiet && (before !== after || more)) {
    announce(document.querySelector("#now .card") ? words.card : words.changed);
  }
}

async function lookAgain() {
  if (!atWork && !document.hidden) await look().catch(() => {});
  setTimeout(lookAgain, LOOK_EVERY);
}

// -- a turn -------------------------------------------------------------------------------------

async function turn(request, shown) {
  const response = await ask(`/chat/${conversation}/turn`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({
      threadId: conversation, runId: crypto.randomUUID(), state: {}, messages: [], tools: [], context: [],
      forwardedProps: {}, ...request,
    }),
  });
  if (response.status === 401) return { signedOut: true };
  if (!response.ok) return { told: (await response.json().catch(() => ({}))).text || words.notSent, taken: false };
  return follow(response, shown);
}

async function follow(response, shown) {
  const end = { taken: true, ended: false };
  let answer = null;
  try {
    for await (const event of events(response)) {
      const stays = atEnd();
      switch (event.type) {
        case "TEXT_MESSAGE_START":
          shown.state?.remove();
          answer = bubble("assistant", words.assistant, "");
          answer.said.setAttribute("aria-busy", "true");
          break;
        case "TEXT_MESSAGE_CONTENT":
          answer.plain.textContent += event.delta;
          break;
        case "TOOL_CALL_START":
          working(shown, words.calling.replace("{tool}", event.toolCallName));
          break;
        case "CUSTOM":
          if (event.name === "reply") Object.assign(end, { told: event.value.text, taken: false });
          if (event.name === "textWasInterim" && answer) {
            answer.item.remove();
            working(shown, words.working);
          }
          break;
        case "RUN_FINISHED":
          end.ended = true;
          end.card = event.outcome?.type === "interrupt";
          break;
        case "RUN_ERROR":
          end.ended = true;
          end.failed = true;
          if (["notFound", "accessDenied", "messageRejected", "invalidRequest"].includes(event.code)) {
            Object.assign(end, { told: event.message, taken: false });
          }
          break;
      }
      if (stays) toEnd();
    }
  } catch {
    // The connection is gone; what is stored is looked at below.
  }
  return end;
}

function working(shown, text) {
  shown.state?.remove();
  const state = element("li", "message assistant");
  const inner = element("div", "state running");
  const pulse = element("span", "pulse");
  pulse.setAttribute("aria-hidden", "true");
  inner.append(pulse, element("p", "", text));
  state.append(inner);
  document.getElementById("messages").append(state);
  shown.state = state;
  announce(text);
}

async function during(work) {
  atWork = true;
  tellNothing();
  const shown = {};
  let end;
  try {
    end = await work(shown);
  } catch {
    end = { told: words.notSent, taken: false };
  }
  if (end.signedOut) endSignIn();
  else if (end.told) tell(end.told);
  else if (!end.ended) tell(words.lost);
  await look({ quiet: true }).catch(() => {});
  if (!end.taken) {
    // What was shown before it was taken has to go, even when nothing changed on the server.
    document.querySelectorAll("#messages > li:not([id])").forEach((item) => item.remove());
  }
  atWork = false;
  if (end.taken && !signedOut) announce(end.card ? words.card : words.answer);
  return end;
}

async function send(text) {
  if (atWork || !text.trim()) return;
  lock(composer, true);
  const end = await during(async (shown) => {
    if (!conversation) {
      const refused = await open(text);
      if (refused) return refused;
    }
    document.getElementById("welcome")?.remove();
    document.querySelector(".questions")?.removeAttribute("open");
    bubble("user", words.you, text);
    working(shown, words.working);
    toEnd();
    return turn({ messages: [{ id: crypto.randomUUID(), role: "user", content: text }] }, shown);
  });
  lock(composer, false);
  if (end.taken && field.value === text) field.value = "";
  else if (!end.taken && !field.value) field.value = text;
  grow();
  field.focus();
}

async function open(text) {
  const response = await ask("/chat", { method: "POST", body: new URLSearchParams({ text, open: "yes" }) });
  if (response.status === 401) return { signedOut: true };
  if (!response.ok) return { told: (await response.json().catch(() => ({}))).text || words.notSent, taken: false };
  conversation = (await response.json()).conversation;
  history.replaceState(null, "", `/chat/${conversation}`);
  const item = document.createElement("li");
  const link = element("a", "", text.length > 60 ? `${text.slice(0, 59)}…` : text);
  link.href = `/chat/${conversation}`;
  link.setAttribute("aria-current", "page");
  item.append(link);
  document.getElementById("conversations").prepend(item);
  return null;
}

async function decide(form, decision) {
  const card = form.closest(".card");
  const { run, digest } = card.dataset;
  lock(form, true);
  await during((shown) => {
    working(shown, words.working);
    const answer = { approved: decision === "approve", digest };
    return turn({ resume: [{ interruptId: `${run}:${digest}`, status: "resolved", payload: answer }] }, shown);
  });
  if (form.isConnected) lock(form, false);
  const next = document.querySelector("#now .card") || main;
  next.tabIndex = -1;
  if (document.activeElement === document.body) next.focus({ preventScroll: true });
}

// -- what people do -----------------------------------------------------------------------------

function grow() {
  if (CSS.supports("field-sizing", "content") || !field) return;
  field.rows = Math.min(10, field.value.split("\n").length);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "composer") {
    event.preventDefault();
    send(field.value);
  } else if (form.id === "questions") {
    event.preventDefault();
    send(event.submitter.value);
  } else if (form.matches("#now [data-decision]")) {
    event.preventDefault();
    if (!atWork && !form.dataset.busy) decide(form, event.submitter.value);
  }
}, true);

// From here on the script answers; before, the browser sends the form by itself.
composer?.setAttribute("aria-busy", "false");
field?.addEventListener("input", grow);
field?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send(field.value);
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !atWork) look().catch(() => {});
});

if (!new URLSearchParams(location.search).has("before")) {
  toEnd();
  setTimeout(lookAgain, LOOK_EVERY);
}
