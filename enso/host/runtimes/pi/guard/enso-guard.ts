/**
 * Enso's permission modes in a pi: asks before what the thread's mode does not allow.
 *
 * Loaded with `pi --extension enso-guard.ts`, in RPC mode by Enso and as well in a terminal. Nothing
 * is kept in memory: the mode is the branch's last `modes` entry, and what a person allowed for the
 * thread are its `modes_allowed` entries, so that a resumed, forked or rewound thread has what its branch
 * says. Both are written and read by Enso's own runtime too.
 *
 * A question is a `select` whose title is the question, a blank line, what the call is about, and
 * why it is asked when there is a reason. Its answer is one of the options; `Deny`, a line end and
 * a reason deny at once, while `Deny` alone is followed by an `input` for the reason.
 *
 * `ENSO_PI_GUARD=off` turns all of it off, for those who load a guard of their own.
 */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import {
  filled,
  modeOf,
  question,
  reason,
  rememberKey,
  RULES,
  subject,
  type Verdict,
  verdict,
} from "./rule.ts";

const COMMAND = "enso-mode";
const STATUS = "enso-mode";
const MODE_ENTRY = "modes";
const ALLOWED_ENTRY = "modes_allowed";

type Blocked = { block: true; reason: string } | undefined;

/** A question that waits, and what ends it without a person. */
interface Waiting {
  judge(): Verdict;
  end(verdict: Verdict): void;
}

export default function guard(pi: ExtensionAPI): void {
  if (process.env.ENSO_PI_GUARD === "off") return;
  const waiting = new Set<Waiting>();

  pi.on("session_start", (_event, ctx) => showMode(ctx));
  pi.on("session_tree", (_event, ctx) => showMode(ctx));
  pi.on("tool_call", async (event, ctx): Promise<Blocked> => {
    const { toolName: tool, input } = event;
    const judge = () => judged(ctx, tool, input);
    const said = judge();
    if (said.verdict === "allow") return undefined;
    if (said.verdict === "refuse") return { block: true, reason: said.reason };
    if (!ctx.hasUI) return { block: true, reason: reason("nobody") };
    const why = await asked(ctx, tool, input, said.reason, judge);
    return why ? { block: true, reason: why } : undefined;
  });
  pi.registerCommand(COMMAND, {
    description: "Change what the agent may do without asking",
    getArgumentCompletions: (prefix: string) =>
      RULES.modes
        .filter((mode) => mode.id.startsWith(prefix))
        .map((mode) => ({ value: mode.id, label: mode.id, description: mode.description })),
    handler: async (args, ctx) => {
      const mode = args.trim() || (await chosenMode(ctx));
      if (!mode) return;
      if (!modeOf(mode)) {
        const named = Array.from(mode).slice(0, 60).join("");
        ctx.ui.notify(filled(RULES["unknown-mode"], { mode: named }), "error");
        return;
      }
      pi.appendEntry(MODE_ENTRY, changedMode(ctx, mode));
      showMode(ctx);
      lookAgain();
    },
  });

  /** Why a call must not run, for the model; empty when a person, or a new mode, lets it. */
  async function asked(
    ctx: ExtensionContext,
    tool: string,
    input: unknown,
    why: string,
    judge: () => Verdict,
  ): Promise<string> {
    const ended = new AbortController();
    let outcome: Verdict | undefined;
    const own: Waiting = {
      judge,
      end(said) {
        outcome = said;
        ended.abort();
      },
    };
    waiting.add(own);
    const signal = ctx.signal ? AbortSignal.any([ctx.signal, ended.signal]) : ended.signal;
    const about = subject(tool, input);
    const title = [question(tool), about, ...(why ? [why] : [])].join("\n\n");
    try {
      const answer = await ctx.ui.select(title, RULES.options.map((option) => option.label), { signal });
      if (outcome) return outcome.verdict === "refuse" ? outcome.reason : "";
      if (ctx.signal?.aborted) return reason("stopped");
      return await taken(ctx, tool, input, answer, signal);
    } finally {
      waiting.delete(own);
    }
  }

  async function taken(
    ctx: ExtensionContext,
    tool: string,
    input: unknown,
    answer: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const [once, thread, deny] = RULES.options.map((option) => option.label);
    if (answer === once) return "";
    if (answer === thread) {
      const key = rememberKey(tool, input, ctx.cwd);
      pi.appendEntry(ALLOWED_ENTRY, { tool, key, at: Date.now() });
      lookAgain();
      return "";
    }
    if (answer === undefined) return reason("denied");
    if (answer !== deny) return denial(answer.startsWith(`${deny}\n`) ? answer.slice(deny.length) : "");
    const { title, placeholder } = RULES["why-not"];
    return denial((await ctx.ui.input(title, placeholder, { signal })) ?? "");
  }

  /** Ends the questions that need no person any more: the mode or what is allowed changed. */
  function lookAgain(): void {
    for (const question of [...waiting]) {
      const said = question.judge();
      if (said.verdict !== "ask") question.end(said);
    }
  }
}

function judged(ctx: ExtensionContext, tool: string, input: unknown): Verdict {
  const said = verdict(storedMode(ctx), tool, input, ctx.cwd);
  if (said.verdict !== "ask") return said;
  const key = rememberKey(tool, input, ctx.cwd);
  const allowed = customData(ctx, ALLOWED_ENTRY).some((data) => isRecord(data) && data.key === key);
  return allowed ? { verdict: "allow", reason: "" } : said;
}

function denial(why: string): string {
  return why.trim() ? reason("denied-why", { reason: why.trim() }) : reason("denied");
}

/** The mode that the branch ends in, by its name, which may be one that Enso does not know. */
function storedMode(ctx: ExtensionContext): string {
  const names = customData(ctx, MODE_ENTRY).map((data) => (isRecord(data) ? data.mode : data));
  const named = names.filter((name): name is string => typeof name === "string" && name !== "");
  return named.at(-1) ?? RULES.fresh;
}

/** The data of the entry that changes the mode; what else the last one holds is kept. */
function changedMode(ctx: ExtensionContext, mode: string): Record<string, unknown> {
  const kept = customData(ctx, MODE_ENTRY).filter(isRecord).at(-1) ?? {};
  return { ...kept, mode, previous: storedMode(ctx), at: Date.now() };
}

async function chosenMode(ctx: ExtensionContext): Promise<string | undefined> {
  const labels = RULES.modes.map((mode) => `${mode.label}: ${mode.description}`);
  const chosen = await ctx.ui.select(RULES["choose-mode"], labels);
  return RULES.modes[labels.indexOf(chosen ?? "")]?.id;
}

function showMode(ctx: ExtensionContext): void {
  const mode = storedMode(ctx);
  ctx.ui.setStatus(STATUS, modeOf(mode)?.label ?? mode);
}

/** The data of the branch's custom entries of a type, in order. */
function customData(ctx: ExtensionContext, type: string): unknown[] {
  const data: unknown[] = [];
  for (const entry of ctx.sessionManager.getBranch()) {
    if (entry.type === "custom" && entry.customType === type) data.push(entry.data);
  }
  return data;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
