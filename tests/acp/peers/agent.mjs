// An echo agent on the official TypeScript SDK.   node agent.mjs SDK
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const acp = await import(pathToFileURL(`${process.argv[2]}/dist/v1/stable/acp.js`));
let value = "low";
const options = () => [
  {
    type: "select", id: "effort", name: "Effort", currentValue: value,
    options: [{ value: "low", name: "low" }, { value: "high", name: "high" }],
  },
];
acp
  .agent({ name: "echo" })
  .onRequest(acp.methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "session-1", configOptions: options() }))
  .onRequest(acp.methods.agent.session.setConfigOption, ({ params }) => {
    value = params.value;
    return { configOptions: options() };
  })
  .onRequest(acp.methods.agent.session.prompt, async ({ params, client }) => {
    for (const content of params.prompt) {
      const update = { sessionUpdate: "agent_message_chunk", content };
      await client.notify(acp.methods.client.session.update, { sessionId: params.sessionId, update });
    }
    return { stopReason: "end_turn" };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
