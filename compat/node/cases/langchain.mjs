// LangChain and LangGraph: bound tools and an agent's loop over Chat and
// Responses, streamed and not, and structured output.
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";

import { assert, called, model, parallel, parameters, schema, structured, wanted } from "./common.mjs";

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
console.log("ok: langchain");
