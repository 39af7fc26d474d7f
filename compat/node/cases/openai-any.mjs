// The same for every version of OpenAI's client: Chat and Responses, streamed and
// not, with tools in parallel and in sequence, structured output, conversations.
import { assert, called, model, parallel, parameters, plain, schema, structured, wanted } from "./common.mjs";

const chatTools = Object.entries(parameters).map(([name, parameters]) => ({ type: "function", function: { name, parameters } }));
const tools = Object.entries(parameters).map(([name, parameters]) => ({ type: "function", name, parameters, strict: false }));

async function chatLoop(client, stream) {
  const log = [];
  const messages = [{ role: "user", content: parallel }];
  for (;;) {
    let message;
    if (stream) {
      const chunks = await client.chat.completions.create({ model, messages, tools: chatTools, stream: true });
      message = { role: "assistant", content: "", tool_calls: [] };
      for await (const chunk of chunks) {
        const delta = chunk.choices[0]?.delta ?? {};
        message.content += delta.content ?? "";
        for (const call of delta.tool_calls ?? []) {
          const known = (message.tool_calls[call.index] ??= { id: call.id, type: "function", function: { name: call.function.name, arguments: "" } });
          known.function.arguments += call.function.arguments ?? "";
        }
      }
      if (message.tool_calls.length === 0) delete message.tool_calls;
    } else {
      message = (await client.chat.completions.create({ model, messages, tools: chatTools, seed: 1, user: "u" })).choices[0].message;
    }
    messages.push(message);
    if (!message.tool_calls) {
      assert.equal(message.content, "Sunny at noon.");
      assert.deepEqual(log, wanted);
      return;
    }
    for (const call of message.tool_calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: called(log, call.function.name, JSON.parse(call.function.arguments)) });
    }
  }
}

async function turn(client, body, stream) {
  if (!stream) return client.responses.create(body);
  if (client.responses.stream) {
    const events = client.responses.stream(body);
    for await (const _ of events);
    return events.finalResponse();
  }
  let last;
  for await (const event of await client.responses.create({ ...body, stream: true })) last = event;
  assert.equal(last.type, "response.completed");
  return last.response;
}

const textOf = (response) => response.output.filter((i) => i.type === "message").flatMap((m) => m.content.map((p) => p.text)).join("");

// responsesLoop continues by previous_response_id, by conversation, or with a
// history that the client keeps.
async function responsesLoop(client, how, stream) {
  const log = [];
  let body = { model, tools, input: [{ role: "user", content: parallel }] };
  if (how === "conversation") body.conversation = (await client.conversations.create({})).id;
  if (how === "history") body = { ...body, store: false, include: ["reasoning.encrypted_content"] };
  for (;;) {
    const response = await turn(client, body, stream);
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) {
      assert.equal(textOf(response), "Sunny at noon.");
      assert.deepEqual(log, wanted);
      return response;
    }
    const outputs = calls.map((c) => ({ type: "function_call_output", call_id: c.call_id, output: called(log, c.name, JSON.parse(c.arguments)) }));
    if (how === "history") body = { ...body, input: [...body.input, ...response.output, ...outputs] };
    if (how === "chain") body = { ...body, previous_response_id: response.id, input: outputs };
    if (how === "conversation") body = { ...body, input: outputs };
  }
}

// background makes a turn that nobody waits for, polls it, and reads its events
// afterwards from the middle.
async function background(client) {
  const started = await client.responses.create({ model, input: plain, background: true });
  assert.equal(started.status, "in_progress");
  let response = started;
  for (let i = 0; i < 200 && response.status === "in_progress"; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    response = await client.responses.retrieve(started.id);
  }
  assert.equal(response.status, "completed");
  assert.equal(textOf(response), "Hello there.");
  const events = [];
  for await (const event of await client.responses.retrieve(started.id, { stream: true, starting_after: 1 })) events.push(event);
  assert.equal(events[0].sequence_number, 2);
  assert.equal(events.at(-1).type, "response.completed");
}

// compaction makes a long conversation a short one and goes on with it.
async function compaction(client) {
  const first = await client.responses.create({ model, input: plain });
  const compacted = await client.responses.compact({ model, previous_response_id: first.id });
  assert.equal(compacted.object, "response.compaction");
  assert.equal(compacted.output.at(-1).type, "compaction");
  const next = await client.responses.create({ model, input: [...compacted.output, { role: "user", content: plain }] });
  assert.equal(textOf(next), "Hello there.");
}

export async function run(OpenAI) {
  const client = new OpenAI({ maxRetries: 0 });
  for (const stream of [false, true]) {
    await chatLoop(client, stream);
    for (const how of ["chain", "history", ...(client.conversations ? ["conversation"] : [])]) {
      await responsesLoop(client, how, stream);
    }
  }
  const chat = await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: structured }],
    response_format: { type: "json_schema", json_schema: { name: "weather", schema, strict: true } },
  });
  assert.deepEqual(JSON.parse(chat.choices[0].message.content), { city: "Paris", degrees: 21 });
  const response = await client.responses.create({ model, input: structured, text: { format: { type: "json_schema", name: "weather", schema, strict: true } } });
  assert.deepEqual(JSON.parse(textOf(response)), { city: "Paris", degrees: 21 });

  const first = await client.responses.create({ model, input: plain });
  assert.equal(textOf(first), "Hello there.");
  assert.equal((await client.responses.retrieve(first.id)).id, first.id);
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.ok(ids.includes(model));

  if (client.responses.cancel) await background(client);
  if (client.responses.compact) await compaction(client);

  const key = { headers: { "Idempotency-Key": "once" } };
  const once = await client.responses.create({ model, input: plain }, key);
  assert.equal((await client.responses.create({ model, input: plain }, key)).id, once.id);
  await assert.rejects(client.responses.create({ model, input: plain, tools: [{ type: "code_interpreter", container: { type: "auto" } }] }), (e) => e.status === 400);
  await assert.rejects(client.responses.create({ model, input: plain, tools: [{ type: "file_search", vector_store_ids: ["v"] }] }), (e) => e.status === 404);
}
