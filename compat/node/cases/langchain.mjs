// LangChain and LangGraph: bound tools and an agent's loop over Chat and
// Responses, streamed and not, structured output, and what it hands through:
// conversations, the background, compaction.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";

import { assert, called, model, parallel, parameters, plain, schema, structured, wanted } from "./common.mjs";

// LangChain fetches a vocabulary to estimate tokens with, and tries for minutes
// where there is no network. An empty one has it estimate by length.
const { fetch } = globalThis;
globalThis.fetch = (url, init) =>
  String(url).startsWith("https://tiktoken") ? Promise.resolve(Response.json({ pat_str: "\\S+", special_tokens: {}, bpe_ranks: "" })) : fetch(url, init);

const configuration = { baseURL: process.env.OPENAI_BASE_URL };

for (const useResponsesApi of [false, true]) {
  for (const streaming of [false, true]) {
    const log = [];
    const tools = Object.entries(parameters).map(([name, p]) => tool(async (args) => called(log, name, args), { name, description: name, schema: p }));
    const llm = new ChatOpenAI({ model, configuration, useResponsesApi, streaming, streamUsage: true, maxRetries: 0 });
    const { messages } = await createReactAgent({ llm, tools }).invoke({ messages: [new HumanMessage(parallel)] });
    const last = messages.at(-1);
    assert.equal(last.text ?? last.content, "Sunny at noon.");
    assert.deepEqual(log, wanted);
  }
  const llm = new ChatOpenAI({ model, configuration, useResponsesApi, maxRetries: 0 });
  const got = await llm.withStructuredOutput(schema, { name: "weather", method: "jsonSchema" }).invoke(structured);
  assert.deepEqual(got, { city: "Paris", degrees: 21 });
}

// What LangChain has no option for goes through modelKwargs. It has no WebSocket.
const base = { model, configuration, useResponsesApi: true, maxRetries: 0 };
const auth = { method: "POST", headers: { Authorization: "Bearer " + process.env.OPENAI_API_KEY } };
const { id: conversation } = await (await fetch(configuration.baseURL + "/conversations", auth)).json();
for (const streaming of [false, true]) {
  const talking = new ChatOpenAI({ ...base, streaming, modelKwargs: { conversation } });
  assert.equal((await talking.invoke(plain)).text, "Hello there.");
}
const first = await new ChatOpenAI(base).invoke(plain);
const chained = await new ChatOpenAI(base).invoke(plain, { previous_response_id: first.response_metadata.id });
assert.equal(chained.text, "Hello there.");
const behind = await new ChatOpenAI({ ...base, streaming: true, modelKwargs: { background: true } }).invoke(plain);
assert.equal(behind.text, "Hello there.");
const short = new ChatOpenAI({ ...base, modelKwargs: { context_management: [{ type: "compaction", compact_threshold: 1 }] } });
assert.equal((await short.invoke([new HumanMessage(plain), new AIMessage("Hello there."), new HumanMessage(plain)])).text, "Hello there.");
console.log("ok: langchain");
