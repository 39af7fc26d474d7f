// What somebody tries who comes from OpenAI with zod and the client's helpers: all
// interfaces against the built-in model, and what its errors look like.
import OpenAI, { toFile } from "openai";
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { ResponsesWS } from "openai/resources/responses/ws";
import { z } from "zod";

import { assert, model } from "./common.mjs";

const client = new OpenAI({ maxRetries: 0 });
const user = (content) => [{ role: "user", content }];
const all = async (list) => {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
};

// fails holds that a request is refused with an error of a class, its code and its param.
async function fails(request, type, code, param = null) {
  const error = await request.then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  assert.ok(error instanceof type, String(error));
  assert.deepEqual([error.code, error.param], [code, param]);
  assert.ok(error.requestID);
}

// Structured outputs, of which zod makes the schema and which it reads.
const City = z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.enum(["a", "b"])), maybe: z.string().nullable() });
const paris = "It is 21 degrees in Paris";
for (const asked of [
  client.chat.completions.parse({ model, messages: user(paris), response_format: zodResponseFormat(City, "city") }),
  client.chat.completions.stream({ model, messages: user(paris), response_format: zodResponseFormat(City, "city") }).finalChatCompletion(),
])
  City.parse((await asked).choices[0].message.parsed);
for (const asked of [
  client.responses.parse({ model, input: paris, text: { format: zodTextFormat(City, "city") } }),
  client.responses.stream({ model, input: paris, text: { format: zodTextFormat(City, "city") } }).finalResponse(),
])
  City.parse((await asked).output_parsed);

// Streams, put together by the client, are what was streamed.
let text = "";
const chat = client.chat.completions.stream({ model, messages: user("Say hello"), stream_options: { include_usage: true } });
chat.on("content", (delta) => (text += delta));
const completion = await chat.finalChatCompletion();
assert.equal(completion.choices[0].message.content, text);
assert.ok(completion.usage.total_tokens > 0);
text = "";
const turn = client.responses.stream({ model, input: "Say hello" });
turn.on("response.output_text.delta", (event) => assert.equal(event.snapshot, (text += event.delta)));
assert.equal((await turn.finalResponse()).output_text, text);

// Tools, run by the client in Chat and by hand in Responses.
const place = z.object({ city: z.string() });
for (const stream of [false, true]) {
  const calls = [];
  const weather = { name: "get_weather", description: "weather of a city", parameters: place, function: (args) => (calls.push(args), "sunny") };
  await client.chat.completions.runTools({ model, stream, messages: user("get_weather in Paris"), tools: [zodFunction(weather)] }).finalContent();
  assert.deepEqual(calls, [{ city: "Paris" }]);
}
const tools = [zodResponsesFunction({ name: "get_weather", description: "weather of a city", parameters: place })];
const asked = await client.responses.parse({ model, input: "get_weather in Paris", tools, tool_choice: "required" });
const call = asked.output.find((item) => item.type === "function_call");
assert.deepEqual(call.parsed_arguments, { city: "Paris" });
const output = { type: "function_call_output", call_id: call.call_id, output: "sunny" };
const chained = await client.responses.create({ model, tools, previous_response_id: asked.id, input: [output] });
const resent = await client.responses.create({ model, tools, store: false, input: [...user("get_weather in Paris"), ...asked.output, output] });
for (const answer of [chained, resent]) assert.ok(answer.output_text.includes("sunny"));

// What is stored.
const kept = await client.chat.completions.create({ model, store: true, metadata: { run: "1" }, messages: user("Hello") });
await client.chat.completions.update(kept.id, { metadata: { run: "2" } });
assert.deepEqual((await all(client.chat.completions.list({ metadata: { run: "2" } }))).map((c) => c.id), [kept.id]);
assert.deepEqual((await all(client.chat.completions.messages.list(kept.id))).map((m) => m.content), ["Hello"]);
await client.chat.completions.delete(kept.id);
await fails(client.chat.completions.retrieve(kept.id), OpenAI.NotFoundError, "completion_not_found");
assert.deepEqual((await all(client.responses.inputItems.list(asked.id))).map((item) => item.type), ["message"]);
await client.responses.delete(asked.id);
await fails(client.responses.retrieve(asked.id), OpenAI.NotFoundError, "response_not_found");

// The background: left and followed again, and cancelled too late.
const background = await client.responses.create({ model, input: "Hello", background: true, stream: true });
let left;
for await (const event of background) {
  left ??= event.response.id;
  if (event.sequence_number === 2) break;
}
const rest = await all(await client.responses.retrieve(left, { stream: true, starting_after: 2 }));
assert.equal(rest[0].sequence_number, 3);
assert.equal(rest.at(-1).type, "response.completed");
assert.equal((await client.responses.stream({ response_id: left }).finalResponse()).id, left);
await fails(client.responses.cancel(left), OpenAI.BadRequestError, "validation_error", "response_id");

// Files and conversations.
const content = "The capital of Ruritania is Strelsau.";
const file = await client.files.create({ file: await toFile(Buffer.from(content), "r.txt", { type: "text/plain" }), purpose: "assistants" });
const read = await client.responses.create({ model, input: user([{ type: "input_file", file_id: file.id }, { type: "input_text", text: "What is the capital of Ruritania?" }]) });
assert.ok(read.output_text.includes("Strelsau"));
assert.equal(await (await client.files.content(file.id)).text(), content);
assert.equal((await client.files.waitForProcessing(file.id)).status, "processed");
assert.ok((await client.files.delete(file.id)).deleted);
await fails(client.files.retrieve(file.id), OpenAI.NotFoundError, "not_found");
const conversation = await client.conversations.create({ items: [{ type: "message", role: "user", content: "My name is Ada." }] });
await client.responses.create({ model, conversation: conversation.id, input: "What is my name?" });
const items = await all(client.conversations.items.list(conversation.id, { order: "asc", limit: 1 }));
assert.deepEqual(items.map((item) => item.role), ["user", "user", "assistant"]);
assert.deepEqual(await client.conversations.items.retrieve(items[0].id, { conversation_id: conversation.id }), items[0]);
await client.conversations.delete(conversation.id);
await fails(client.conversations.retrieve(conversation.id), OpenAI.NotFoundError, "conversation_not_found");

// A turn over a WebSocket, and one that is refused there.
const socket = new ResponsesWS(client);
socket.send({ type: "response.create", model, input: "Hello" });
await new Promise((resolve, reject) => socket.on("event", (event) => event.type === "response.completed" && resolve()).on("error", reject));
socket.send({ type: "response.create", model: "nope", input: "Hello" });
assert.match(String(await new Promise((resolve) => socket.on("error", resolve))), /No generation model found/);
socket.close();

// Decisions and the older interfaces.
const decision = await client.decisions.create({ model: "svc-snap-preview", input: "I was charged twice", questions: [{ type: "predicate", name: "money", instructions: "Is it about money?" }] });
assert.ok(decision.answers[0].probability > 0);
const moderated = await client.moderations.create({ model: "omni-moderation-latest", input: ["Hello.", "Good morning."] });
assert.equal(moderated.results.length, 2);
assert.equal(typeof moderated.results[0].flagged, "boolean");
assert.equal(typeof moderated.results[0].category_scores["self-harm/intent"], "number");
assert.equal(Object.keys(moderated.results[0].categories).length, 13);
assert.equal((await client.embeddings.create({ model, input: ["a", "b"] })).data.length, 2);
assert.ok((await client.completions.create({ model, prompt: "Once upon", max_tokens: 5 })).choices[0].text);

// Errors.
const stranger = new OpenAI({ apiKey: "sk-wrong", maxRetries: 0 });
await fails(stranger.chat.completions.create({ model, messages: user("x") }), OpenAI.AuthenticationError, "invalid_api_key");
await fails(stranger.responses.create({ model, input: "x", stream: true }), OpenAI.AuthenticationError, "invalid_api_key");
await fails(stranger.files.list(), OpenAI.AuthenticationError, "invalid_api_key");
await fails(client.chat.completions.create({ model: "nope", messages: user("x") }), OpenAI.NotFoundError, "model_not_found", "model");
await fails(client.responses.create({ model: "nope", input: "x" }), OpenAI.NotFoundError, "model_not_found", "model");
await fails(client.responses.create({ model, input: "x", previous_response_id: "resp_nope" }), OpenAI.NotFoundError, "response_not_found");
await fails(client.get("/nothing"), OpenAI.NotFoundError, "not_found");
await fails(client.responses.create({ model, input: "x", temperature: 3 }), OpenAI.BadRequestError, "validation_error", "temperature");
await fails(client.chat.completions.create({ model, messages: [{ role: "wizard", content: "x" }] }), OpenAI.BadRequestError, "validation_error", "messages[0].role");
await fails(client.chat.completions.create({ messages: user("x") }), OpenAI.BadRequestError, "validation_error", "model");
const format = { type: "json_schema", name: "a b", schema: {} };
await fails(client.responses.create({ model, input: "x", text: { format } }), OpenAI.BadRequestError, "validation_error", "text.format.name");
const limited = new OpenAI({ apiKey: process.env.SVC_LIMITED_KEY, maxRetries: 0 });
await limited.responses.create({ model, input: "x" });
await fails(limited.responses.create({ model, input: "x" }), OpenAI.RateLimitError, "rate_limit_exceeded");
console.log("ok: openai-user");
