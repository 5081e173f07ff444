// The extension that the recorded threads were made with, as far as their transcripts show it.
const TOOLS = { plan: ["read", "grep"], build: ["read", "bash", "edit", "write"] };

export default function (pi) {
	const command = (name, handler) => pi.registerCommand(name, { description: name, handler });
	const inject = (content, more, options) =>
		pi.sendMessage({ customType: "modes-context", content, ...more }, options);

	command("nav", async (args, ctx) => {
		const [target, how] = args.split(" ");
		const result = await ctx.navigateTree(target, { summarize: how === "summarize" });
		ctx.ui.notify(`navigated ${JSON.stringify(result)}`, "info");
	});
	command("mode", (mode, ctx) => {
		pi.appendEntry("modes", { mode, previous: null, at: Date.now(), tools: TOOLS[mode] });
		ctx.ui.setStatus("modes", `mode: ${mode}`);
	});
	command("inject", (text) => inject(`[mode] ${text}`, { display: true, details: { source: "lab-ext" } }));
	command("inject-hidden", (text) =>
		inject([{ type: "text", text }], { display: false }, { triggerTurn: true }),
	);
	command("wizard", async (_args, ctx) => {
		const kind = await ctx.ui.select("Which environment?", ["staging", "production"]);
		const sure = await ctx.ui.confirm("Deploy?", `Deploy shop-api to ${kind}?`);
		const tag = await ctx.ui.input("Release tag", "v1.2.3");
		const notes = await ctx.ui.editor("Release notes", "- fixed totals\n");
		const late = await ctx.ui.select("Answer within a moment", ["a", "b"], { timeout: 300 });
		pi.appendEntry("modes", { mode: "deploy", kind, sure, tag, notes, late: late ?? null });
		ctx.ui.notify("Deploy confirmed", "info");
		ctx.ui.setWidget("deploy", ["Deploy", `${kind} ${tag}`]);
		ctx.ui.setTitle("pi - deploy");
		ctx.ui.setEditorText("/mode build");
	});
	pi.on("tool_call", async (event, ctx) => {
		const line = event.input.command ?? "";
		if (event.toolName !== "bash" || !line.includes("git push")) return undefined;
		const answer = await ctx.ui.select(`Allow this command?\n${line}`, ["Allow", "Block"]);
		return answer === "Allow" ? undefined : { block: true, reason: "Blocked." };
	});
}
