// Tools that a test's script answers: the file `calls` in the agent directory says where it is asked.
import { readFileSync } from "node:fs";

export default function (pi) {
	const url = readFileSync(`${process.env.PI_CODING_AGENT_DIR}/calls`, "utf8").trim();
	const content = (text) => ({ content: [{ type: "text", text }], details: {} });

	async function execute(id, _params, signal, onUpdate) {
		const answer = await fetch(`${url}/${id}`, { signal });
		let rest = "";
		for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
			const lines = (rest + piece).split("\n");
			rest = lines.pop();
			for (const line of lines) {
				const said = JSON.parse(line);
				if ("result" in said) return content(said.result);
				onUpdate?.(content(said.progress));
			}
		}
		throw new Error("The script did not say.");
	}

	for (const [name, field] of [["bash", "command"], ["read", "path"]]) {
		const parameters = {
			type: "object",
			properties: { [field]: { type: "string" } },
			required: [field],
		};
		pi.registerTool({ name, label: name, description: `Scripted ${name}`, parameters, execute });
	}
}
