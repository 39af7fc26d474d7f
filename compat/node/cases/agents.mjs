// The Agents SDK: its loop over Responses and Chat, streamed and not, by chain, by
// conversation, and with a session that it keeps in a conversation itself.
import { Agent, OpenAIChatCompletionsModel, OpenAIConversationsSession, OpenAIResponsesModel, run, tool } from "@openai/agents";
import OpenAI from "openai";

import { assert, called, model, parallel, parameters, wanted } from "./common.mjs";

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
console.log("ok: agents");
