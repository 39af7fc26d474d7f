// The AI SDK: loops of tools in Chat and Responses, streamed and not, with a
// conversation, structured output, and compaction.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";

import { assert, called, model, parallel, parameters, plain, schema, structured, wanted } from "./common.mjs";

const openai = createOpenAI({});
const offered = (log) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, p]) => [name, tool({ description: name, inputSchema: jsonSchema(p), execute: async (args) => called(log, name, args) })]),
  );

for (const kind of ["chat", "responses", "conversation", "unstored"]) {
  for (const stream of [false, true]) {
    const log = [];
    const options = {};
    if (kind === "conversation") {
      const made = await fetch(process.env.OPENAI_BASE_URL + "/conversations", {
        method: "POST",
        headers: { Authorization: "Bearer " + process.env.OPENAI_API_KEY },
      });
      options.conversation = (await made.json()).id;
    }
    if (kind === "unstored") options.store = false;
    const request = {
      model: kind === "chat" ? openai.chat(model) : openai.responses(model),
      prompt: parallel,
      tools: offered(log),
      stopWhen: stepCountIs(5),
      maxRetries: 0,
      providerOptions: { openai: options },
      onError: ({ error }) => {
        throw error;
      },
    };
    const text = stream ? await streamText(request).text : (await generateText(request)).text;
    assert.equal(text, "Sunny at noon.", kind);
    assert.deepEqual(log, wanted, kind);
  }
}

for (const m of [openai.chat(model), openai.responses(model)]) {
  const { output } = await generateText({ model: m, prompt: structured, maxRetries: 0, output: Output.object({ schema: jsonSchema(schema) }) });
  assert.deepEqual(output, { city: "Paris", degrees: 21 });
}

for (const stream of [false, true]) {
  const request = {
    model: openai.responses(model),
    messages: [
      { role: "user", content: plain },
      { role: "assistant", content: "Hello there." },
      { role: "user", content: plain },
    ],
    maxRetries: 0,
    providerOptions: { openai: { store: false, contextManagement: [{ type: "compaction", compactThreshold: 1 }] } },
  };
  const result = stream ? streamText(request) : await generateText(request);
  assert.equal(await result.text, "Hello there.");
  const { messages } = stream ? await result.response : result.response;
  const summary = messages.flatMap((m) => m.content).find((part) => part.type === "custom" && part.kind === "openai.compaction");
  assert.ok(summary, "there is a compaction");
  const next = await generateText({ ...request, messages: [...request.messages, ...messages, { role: "user", content: plain }], providerOptions: { openai: { store: false } } });
  assert.equal(next.text, "Hello there.");
}
console.log("ok: ai-sdk");
