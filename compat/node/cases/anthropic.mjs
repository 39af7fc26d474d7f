// Anthropic's SDK: a loop of tools over Messages, streamed and not, counting tokens,
// the list of models, and errors.
import Anthropic from "@anthropic-ai/sdk";

import { assert, called, model, parallel, parameters, plain, wanted } from "./common.mjs";

const baseURL = process.env.OPENAI_BASE_URL.replace(/\/v1$/, "");
const client = new Anthropic({ baseURL, apiKey: null, authToken: process.env.OPENAI_API_KEY, maxRetries: 0 });
const tools = Object.entries(parameters).map(([name, input_schema]) => ({ name, description: name, input_schema }));

for (const stream of [false, true]) {
  const log = [];
  const messages = [{ role: "user", content: parallel }];
  for (;;) {
    const body = { model, max_tokens: 1000, system: "Do as you are told.", tools, messages };
    const answer = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const calls = answer.content.filter((b) => b.type === "tool_use");
    if (calls.length === 0) {
      assert.equal(answer.stop_reason, "end_turn");
      assert.equal(answer.content[0].text, "Sunny at noon.");
      break;
    }
    assert.equal(answer.stop_reason, "tool_use");
    assert.ok(answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0);
    messages.push({ role: "assistant", content: answer.content });
    messages.push({ role: "user", content: calls.map((c) => ({ type: "tool_result", tool_use_id: c.id, content: called(log, c.name, c.input) })) });
  }
  assert.deepEqual(log, wanted);
}

const names = [];
for await (const event of await client.messages.create({ model, max_tokens: 1000, stream: true, messages: [{ role: "user", content: plain }] })) {
  if (names.at(-1) !== event.type) names.push(event.type);
}
assert.deepEqual(names, ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"]);

const { input_tokens } = await client.messages.countTokens({ model, messages: [{ role: "user", content: "Hello" }] });
assert.ok(input_tokens > 0);
assert.equal((await client.models.retrieve(model)).type, "model");
await assert.rejects(client.messages.create({ model: "none", max_tokens: 1, messages: [{ role: "user", content: "x" }] }), (e) => e instanceof Anthropic.NotFoundError && e.requestID !== null);
console.log("ok: anthropic");
