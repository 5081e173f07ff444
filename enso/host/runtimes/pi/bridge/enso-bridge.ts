// What pi's RPC mode has no command for: going to an entry, labels, and taking a name away. And what
// that of pi before 1.0 had none for: the entries, which it stores with the first answer alone.
// Enso loads it by path into every pi it starts, and sends these commands as prompts.

interface Context {
	navigateTree(target: string, options?: { summarize?: boolean }): Promise<{ cancelled: boolean }>;
	sessionManager: { getEntries(): unknown[] };
	ui: { setStatus(key: string, text: string | undefined): void };
}

interface Pi {
	registerCommand(
		name: string,
		command: { description: string; handler: (args: string, context: Context) => Promise<void> | void },
	): void;
	setLabel(entry: string, label: string | undefined): void;
	setSessionName(name: string): void;
}

export default function (pi: Pi): void {
	pi.registerCommand("enso-go-to", {
		description: "Continue from another entry (sent by Enso)",
		handler: async (args, context) => {
			const result = await context.navigateTree(args.trim(), { summarize: false });
			if (result.cancelled) throw new Error("another extension kept pi where it was");
		},
	});
	pi.registerCommand("enso-label", {
		description: "Label an entry (sent by Enso)",
		handler: (args) => {
			const [entry = "", ...words] = args.trim().split(" ");
			pi.setLabel(entry, words.join(" ") || undefined);
		},
	});
	pi.registerCommand("enso-entries", {
		description: "Tell the entries (sent by Enso)",
		handler: (_, context) =>
			context.ui.setStatus("enso-entries", JSON.stringify(context.sessionManager.getEntries())),
	});
	pi.registerCommand("enso-name", {
		description: "Take the thread's name away (sent by Enso)",
		handler: (args) => pi.setSessionName(args.trim()),
	});
}
