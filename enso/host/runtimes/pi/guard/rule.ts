/**
 * What the agent may do without asking: the rule of Enso's permissions, for a pi.
 *
 * The same as `enso/host/runtimes/permissions.py`, with the same table and words
 * (`enso/host/permission_rules.json`); one list of cases tests both. Pure but for looking at where
 * paths lead: nothing is opened, nothing is remembered, no one is asked.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

type CallKind = "reading" | "inside" | "outside" | "other";
export type Said = "allow" | "ask" | "refuse";

/** A verdict; the reason is for the model when it is refused, for the person when it is asked. */
export interface Verdict {
  verdict: Said;
  reason: string;
}

/** A permission mode with its words. */
export interface Mode {
  id: string;
  label: string;
  description: string;
  verdicts: Record<CallKind, Said>;
}

interface Rules {
  fresh: string;
  modes: Mode[];
  tools: { reading: string[]; writing: string[] };
  questions: Record<string, string>;
  "question-of-others": string;
  options: { value: string; label: string }[];
  reasons: Record<string, string>;
  "unknown-mode": string;
  "why-not": { title: string; placeholder: string };
  "choose-mode": string;
}

const HERE = dirname(fileURLToPath(import.meta.url));

export const RULES: Rules = JSON.parse(
  readFileSync(join(HERE, "../../../permission_rules.json"), "utf8"),
);

/** Characters of a subject; of a longer one the beginning and the end are shown. */
const MAX_SUBJECT = 300;
const SHOWN_END = 80;
const MAX_DEPTH = 96;
const MAX_LINKS = 255;

class NoPath extends Error {}

/** Whether a call is allowed, asked about, or refused. An unknown mode is the fresh one. */
export function verdict(
  mode: string,
  tool: string,
  input: unknown,
  cwd: string,
  agentDir = agentDirectory(),
): Verdict {
  const known = modeOf(mode) ?? (modeOf(RULES.fresh) as Mode);
  const verdicts = known.verdicts;
  let why = "";
  let said: Said;
  if (RULES.tools.reading.includes(tool)) said = verdicts.reading;
  else if (!RULES.tools.writing.includes(tool)) said = verdicts.other;
  else if (verdicts.inside === verdicts.outside) said = verdicts.inside;
  else {
    why = whyOutside(input, cwd, agentDir);
    said = verdicts[why ? "outside" : "inside"];
  }
  if (said === "refuse") why = reason("plan", { tool: cleanText(tool) });
  return { verdict: said, reason: why };
}

/** The mode of this name; `undefined` when Enso knows none. */
export function modeOf(id: string): Mode | undefined {
  return RULES.modes.find((mode) => mode.id === id);
}

/** The title of the question about a call. */
export function question(tool: string): string {
  return Object.hasOwn(RULES.questions, tool)
    ? RULES.questions[tool]
    : filled(RULES["question-of-others"], { tool });
}

/** The sentence of this name, about these things. */
export function reason(name: string, about: Record<string, string> = {}): string {
  return filled(RULES.reasons[name], about);
}

/** A template with what its `{…}` stand for. */
export function filled(template: string, about: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => about[name] ?? whole);
}

/** The one line that says what a call is about: a command, a path, else its arguments. */
export function subject(tool: string, input: unknown): string {
  const told = ["bash", ...RULES.tools.reading, ...RULES.tools.writing].includes(tool);
  const argument = given(input, tool === "bash" ? "command" : "path");
  const text =
    told && typeof argument === "string"
      ? stripped(argument)
      : asJson(plain(input)) || "(arguments that cannot be shown)";
  const characters = Array.from(text);
  if (characters.length <= MAX_SUBJECT) return oneLine(text);
  const head = characters.slice(0, MAX_SUBJECT - SHOWN_END).join("");
  const tail = characters.slice(-SHOWN_END).join("");
  const leftOut = characters.length - MAX_SUBJECT;
  return `${oneLine(head)} … ${leftOut} characters … ${oneLine(tail)}`;
}

/**
 * What is remembered when a call is allowed for the thread: calls with the same key are too.
 *
 * A command: exactly this one. An edit or a write: the tool within the project, or exactly this file
 * outside of it. Any other call: exactly these arguments. What has no such key gets one that no other
 * call has.
 */
export function rememberKey(
  tool: string,
  input: unknown,
  cwd: string,
  agentDir = agentDirectory(),
): string {
  const command = given(input, "command");
  const path = given(input, "path");
  if (tool === "bash" && typeof command === "string") return key(tool, "command", command);
  if (RULES.tools.writing.includes(tool) && typeof path === "string") {
    if (!whyOutside(input, cwd, agentDir)) return key(tool, "project");
    try {
      return key(tool, "path", realPath(resolvePath(path, cwd)));
    } catch {
      return key(tool, "never", randomBytes(16).toString("hex"));
    }
  }
  const exact = isPlain(input) ? asJson(input) : "";
  return exact
    ? key(tool, "arguments", exact)
    : key(tool, "never", randomBytes(16).toString("hex"));
}

/** Where pi keeps what is its own. */
export function agentDirectory(): string {
  const set = process.env.PI_CODING_AGENT_DIR || "~/.pi/agent";
  return set === "~" || set.startsWith("~/") ? homedir() + set.slice(1) : resolve(set);
}

// -- paths ------------------------------------------------------------------------------------------

function whyOutside(input: unknown, cwd: string, agentDir: string): string {
  const name = given(input, "path");
  if (typeof name !== "string") return reason("no-file");
  let named: string, real: string, project: string, agents: string;
  try {
    project = realPath(cwd);
    named = resolvePath(name, cwd);
    real = realPath(named);
    agents = realPath(agentDir);
  } catch {
    return reason("no-path");
  }
  if (isWithin(real, agents)) return reason("agent-directory", { path: real });
  if (!isWithin(real, project)) return reason("outside", { path: real });
  const parts = [...named.split("/"), ...real.split("/")];
  return parts.some((part) => part.toLowerCase() === ".git") ? reason("git", { path: real }) : "";
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** The absolute path that a model's name for a file stands for; symlinks stay. */
function resolvePath(name: string, cwd: string): string {
  if (name.includes("\0")) throw new NoPath();
  let plainName = cleanText(name).replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
  if (plainName.startsWith("@")) plainName = plainName.slice(1);
  if (plainName === "~" || plainName.startsWith("~/")) {
    plainName = homedir() + plainName.slice(1);
  } else if (plainName.startsWith("file://")) {
    plainName = unquoted(/^file:\/\/[^/?#]*([^?#]*)/.exec(plainName)?.[1] ?? "");
  }
  return resolve(cwd, plainName);
}

/** The path with every symlink followed, as far as it exists. */
function realPath(path: string): string {
  const left = resolve(path).split("/").filter(Boolean);
  let real = "";
  let links = 0;
  while (left.length > 0) {
    const part = left.shift() as string;
    if (part === "..") {
      real = real.slice(0, real.lastIndexOf("/"));
      continue;
    }
    if (part === ".") continue;
    const next = `${real}/${part}`;
    const target = links < MAX_LINKS ? linkTarget(next) : undefined; // a circle is no way
    if (target === undefined) {
      real = next;
      continue;
    }
    links += 1;
    if (target.startsWith("/")) real = "";
    left.unshift(...target.split("/").filter(Boolean));
  }
  return real || "/";
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // no link, or nothing there
  }
}

function unquoted(text: string): string {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  const decoded = bytes.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, "latin1").toString("utf8");
}

// -- text -------------------------------------------------------------------------------------------

function given(input: unknown, name: string): unknown {
  return isObject(input) && Object.hasOwn(input, name) ? input[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function cleanText(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Without the blanks at both ends that Python's `strip` takes. */
function stripped(text: string): string {
  const blank = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
  const start = text.search(new RegExp(`(?!${blank})[^]`));
  if (start < 0) return "";
  let end = text.length;
  const one = new RegExp(`^${blank}$`);
  while (one.test(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function oneLine(text: string): string {
  return cleanText(text)
    .replace(/\r\n|[\r\n\u2028\u2029]/g, " ⏎ ")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (char) =>
      char === "\t" ? " " : `\\u{${(char.codePointAt(0) as number).toString(16)}}`,
    );
}

function plain(value: unknown, depth = MAX_DEPTH): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (Array.isArray(value)) return depth > 0 ? value.map((v) => plain(v, depth - 1)) : null;
  if (!isObject(value)) return value;
  if (depth <= 0) return null;
  const entries = Object.entries(value).map(([k, v]) => [cleanText(k), plain(v, depth - 1)]);
  return Object.fromEntries(entries);
}

/** Whether `plain` would leave a value as it is. */
function isPlain(value: unknown, depth = MAX_DEPTH): boolean {
  if (typeof value === "string") return cleanText(value) === value;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return depth > 0 && value.every((v) => isPlain(v, depth - 1));
  if (!isObject(value)) return true;
  return (
    depth > 0 &&
    Object.entries(value).every(([k, v]) => cleanText(k) === k && isPlain(v, depth - 1))
  );
}

/** JSON as Python writes it with sorted keys: the same for the same arguments. */
function asJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asJson).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const names = Object.keys(value).sort(byCodePoint);
  return `{${names.map((name) => `${JSON.stringify(name)}: ${asJson(value[name])}`).join(", ")}}`;
}

function byCodePoint(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one, "utf8"), Buffer.from(other, "utf8"));
}

function key(...parts: string[]): string {
  const texts = parts.map((part) => JSON.stringify(cleanText(part)));
  return `[${texts.join(", ")}]`.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
