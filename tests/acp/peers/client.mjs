// A client on the official TypeScript SDK: says hello, prompts, sets an option, asks for what does not exist.
//   node client.mjs SDK stdio COMMAND…      or      node client.mjs SDK ws URL
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, transport, ...words] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${sdk}/dist/v1/stable/acp.js`));
let child, stream;
if (transport === "stdio") {
  child = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
} else {
  const { createWebSocketStream } = await import(pathToFileURL(`${sdk}/dist/transports/ws-stream.js`));
  stream = createWebSocketStream(words[0]);
}
const kinds = [];
const texts = [];
const app = acp
  .client({ name: "interop" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options.find((option) => option.kind === "allow_once").optionId },
  }))
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    kinds.push(params.update.sessionUpdate);
    if (params.update.sessionUpdate === "agent_message_chunk") texts.push(params.update.content.text);
  });
const summary = await app.connectWith(stream, async (ctx) => {
  const hello = await ctx.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const opened = await ctx.request(acp.methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  const sessionId = opened.sessionId;
  const prompt = [{ type: "text", text: "hello from TypeScript" }];
  const done = await ctx.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  const option = opened.configOptions.find((one) => one.type === "select" && one.options.length > 1);
  const value = option.options.at(-1).value;
  const changed = await ctx.request(acp.methods.agent.session.setConfigOption, { sessionId, configId: option.id, value });
  const current = changed.configOptions.find((one) => one.id === option.id).currentValue;
  const unknown = await ctx.request("_unknown", {}).catch((error) => error.code);
  return { version: hello.protocolVersion, stop: done.stopReason, text: texts.join(""), changed: current === value, unknown, kinds };
});
console.log(JSON.stringify(summary));
child?.stdin.end();
process.exitCode = 0;
if (child) child.on("exit", () => process.exit(0));
else process.exit(0);
