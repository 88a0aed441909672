// The published client of AG-UI against a server whose address is the first argument; prints what it met, as JSON.

import { createRequire } from "node:module";

const { HttpAgent } = createRequire(`${process.argv[3]}/`)("@ag-ui/client");

const url = process.argv[2];
const met = {};

function agentOf(threadId) {
  const agent = new HttpAgent({ url, threadId, headers: { "x-reader": "anna" } });
  agent.seen = { customs: [], errors: [], results: [], kinds: [] };
  agent.subscribe({
    onRunStartedEvent: ({ event }) => {
      agent.threadId = event.threadId;
    },
    onEvent: ({ event }) => {
      agent.seen.kinds.push(event.type);
    },
    onCustomEvent: ({ event }) => {
      agent.seen.customs.push({ name: event.name, value: event.value });
    },
    onRunErrorEvent: ({ event }) => {
      agent.seen.errors.push({ code: event.code, message: event.message });
    },
  });
  return agent;
}

async function run(agent, input) {
  agent.seen.customs = [];
  agent.seen.errors = [];
  agent.seen.kinds = [];
  let thrown = null;
  let result = null;
  try {
    ({ result } = await agent.runAgent(input));
  } catch (error) {
    thrown = String(error.message ?? error);
  }
  return {
    thread: agent.threadId,
    thrown,
    result,
    interrupts: agent.pendingInterrupts,
    messages: agent.messages.map(({ role, content }) => [role, content]),
    ...structuredClone(agent.seen),
  };
}

function say(agent, text) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  return run(agent);
}

const agent = agentOf("");
met.asked = await say(agent, "Create a page 'Team'.");
const [interrupt] = agent.pendingInterrupts;

met.refusedByClient = await run(agent);

const raw = await fetch(url, {
  method: "POST",
  headers: { "content-type": "application/json", "x-reader": "anna" },
  body: JSON.stringify({
    threadId: agent.threadId,
    runId: "raw",
    messages: [{ id: "m", role: "user", content: "weiter" }],
  }),
});
met.raw = { status: raw.status, type: raw.headers.get("content-type"), body: await raw.text() };

const second = agentOf(agent.threadId);
met.looked = await run(second);

const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }];
met.resumed = await run(agent, { resume });
met.resumedAgain = await run(second, { resume });
met.failed = await say(agent, "And now something that fails.");
met.afterFailure = await say(agent, "Once more.");

const foreign = agentOf("conversation-of-somebody-else");
met.foreign = await say(foreign, "Hello?");

console.log(JSON.stringify(met));
