// An AG-UI client on one thread, driven by lines of JSON: {"say"}, {"answer"} or {"look"}.
// Answers each with a line: the messages it holds now, its open interrupts, and how the run ended.
//
//     node agui_client.mjs <directory of node_modules> <url of /api/agui> <thread id>

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [packages, url, threadId] = process.argv.slice(2);
const { HttpAgent } = createRequire(`${packages}/`)("@ag-ui/client");
const agent = new HttpAgent({ url, threadId });

async function run(order) {
  let ended = null;
  const streamed = [];
  const parameters = {};
  if (order.say) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: order.say });
  if (order.answer) {
    parameters.resume = agent.pendingInterrupts.map(({ id }) => {
      return { interruptId: id, status: "resolved", payload: order.answer };
    });
  }
  try {
    await agent.runAgent(parameters, {
      onTextMessageContentEvent: ({ event }) => void streamed.push(event.delta),
      onRunFinishedEvent: ({ event }) => void (ended = event.outcome?.type ?? "success"),
      onRunErrorEvent: ({ event }) => void (ended = `error: ${event.message}`),
    });
  } catch (error) {
    ended ??= `failed: ${error.message}`;
  }
  return { ended, streamed, messages: agent.messages, interrupts: agent.pendingInterrupts };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
}
