// Judges calls with the extension's rule: a JSON line [mode, tool, input, cwd, agentDir] each, and a
// line of what the rule says of it.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { question, rememberKey, subject, verdict } = await import(pathToFileURL(process.argv[2]));

for await (const line of createInterface({ input: process.stdin })) {
  const [mode, tool, input, cwd, agentDir] = JSON.parse(line);
  const said = {
    ...verdict(mode, tool, input, cwd, agentDir),
    subject: subject(tool, input),
    key: rememberKey(tool, input, cwd, agentDir),
    question: question(tool),
  };
  process.stdout.write(`${JSON.stringify(said).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)}\n`);
}
