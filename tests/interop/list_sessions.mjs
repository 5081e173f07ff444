// What a pi lists: a line of JSON for each line of input, with every session of the agent directory
// as pi's own SessionManager tells it.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { SessionManager } = await import(pathToFileURL(`${process.argv[2]}/dist/index.js`));

for await (const _line of createInterface({ input: process.stdin })) {
  const listed = await SessionManager.listAll();
  const rows = listed.map(({ id, cwd, name, firstMessage, messageCount, modified, path }) => ({
    id,
    cwd,
    name: name ?? null,
    firstMessage,
    messageCount,
    modified: modified.getTime(),
    path,
  }));
  process.stdout.write(`${JSON.stringify(rows)}\n`);
}
