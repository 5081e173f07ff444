// A command for tests: `/go-to <entry>` continues from another entry, which no RPC command does.
export default function (pi: any) {
  pi.registerCommand("go-to", {
    description: "Continue from another entry",
    handler: async (args: string, ctx: any) => {
      await ctx.navigateTree(args.trim(), { summarize: false });
    },
  });
}
