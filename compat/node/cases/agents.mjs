// The Agents SDK: its loop over Responses and Chat, streamed and not, by chain, by
// conversation, with a session that it keeps in a conversation itself, over a
// WebSocket, in the background, with structured output, and with a session that
// it has compacted.
import { Agent, OpenAIChatCompletionsModel, OpenAIConversationsSession, OpenAIResponsesCompactionSession, OpenAIResponsesModel, OpenAIResponsesWSModel, run, tool } from "@openai/agents";
import OpenAI from "openai";

import { assert, called, model, parallel, parameters, plain, schema, structured, wanted } from "./common.mjs";

const client = new OpenAI({ maxRetries: 0 });
const agent = (log, m) =>
  new Agent({
    name: "a",
    instructions: "Do as you are told.",
    model: m,
    tools: Object.entries(parameters).map(([name, p]) =>
      tool({ name, description: name, parameters: p, strict: true, execute: async (args) => called(log, name, args) }),
    ),
  });

async function finish(log, m, options, stream) {
  const result = await run(agent(log, m), parallel, stream ? { ...options, stream: true } : options);
  if (stream) {
    for await (const _ of result);
    await result.completed;
  }
  assert.equal(result.finalOutput, "Sunny at noon.");
  assert.deepEqual(log, wanted);
}

for (const stream of [false, true]) {
  await finish([], new OpenAIChatCompletionsModel(client, model), {}, stream);
  await finish([], new OpenAIResponsesModel(client, model), {}, stream);
  await finish([], new OpenAIResponsesModel(client, model), { conversationId: (await client.conversations.create({})).id }, stream);
  const first = await client.responses.create({ model, input: "Hi" });
  await finish([], new OpenAIResponsesModel(client, model), { previousResponseId: first.id }, stream);
  const session = new OpenAIConversationsSession({ client });
  await finish([], new OpenAIResponsesModel(client, model), { session }, stream);
  await finish([], new OpenAIResponsesModel(client, model), { session }, stream); // with the first task as history
}

for (const stream of [false, true]) {
  const ws = new OpenAIResponsesWSModel(client, model);
  await finish([], ws, {}, stream);
  await finish([], ws, { conversationId: (await client.conversations.create({})).id }, stream);
  await ws.close();
}

for (const m of [new OpenAIChatCompletionsModel(client, model), new OpenAIResponsesModel(client, model)]) {
  const typed = new Agent({ name: "b", model: m, outputType: { type: "json_schema", name: "weather", strict: true, schema } });
  assert.deepEqual((await run(typed, structured)).finalOutput, { city: "Paris", degrees: 21 });
}

// A stream that is made in the background, which a client that is cut off could
// follow again.
const patient = new Agent({ name: "c", model: new OpenAIResponsesModel(client, model), modelSettings: { providerData: { background: true } } });
const made = await run(patient, plain, { stream: true });
for await (const _ of made);
await made.completed;
assert.equal(made.finalOutput, "Hello there.");
assert.equal((await client.responses.retrieve(made.lastResponseId)).background, true);

const compacted = new OpenAIResponsesCompactionSession({ client, model: "gpt-scripted", shouldTriggerCompaction: () => true });
const short = new Agent({ name: "d", model: new OpenAIResponsesModel(client, "gpt-scripted") });
for (let n = 0; n < 2; n++) {
  assert.equal((await run(short, plain, { session: compacted })).finalOutput, "Hello there.");
  assert.ok((await compacted.getItems()).some((item) => item.type === "compaction"));
}
console.log("ok: agents");
