// Vector stores and the search in files with the official client and its polling
// helpers, the Agents SDK and the AI SDK, against the built-in model.
import OpenAI, { toFile } from "openai";
import { Agent, OpenAIResponsesModel, Runner, fileSearchTool, setTracingDisabled } from "@openai/agents";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import { assert } from "./common.mjs";

const client = new OpenAI();
const model = "svc-preview";
const text = (name, content) => toFile(Buffer.from(content), name, { type: "text/markdown" });

const store = await client.vectorStores.create({ name: "Zoo", expires_after: { anchor: "last_active_at", days: 7 }, metadata: { a: "b" } });
assert.equal(store.object, "vector_store");
assert.equal(store.status, "completed");

const began = Date.now();
const whale = await client.vectorStores.files.uploadAndPoll(store.id, await text("whale.md", "# Whales\n\nAll whales are mammals. The blue whale weighs 150 tons."));
assert.equal(whale.status, "completed");
assert.equal(whale.chunking_strategy.static.max_chunk_size_tokens, 800);
assert.ok(Date.now() - began < 5000, "the client waited five seconds: it did not read openai-poll-after-ms");

const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files: [await text("shark.md", "A shark is a fish."), await text("owl.md", "An owl is a bird.")] });
assert.equal(batch.status, "completed");
assert.deepEqual(batch.file_counts, { in_progress: 0, completed: 2, failed: 0, cancelled: 0, total: 2 });

const listed = [];
for await (const file of client.vectorStores.files.list(store.id, { limit: 1, order: "asc" })) listed.push(file.id);
assert.equal(listed.length, 3);
assert.equal(listed[0], whale.id);
const inBatch = await client.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: store.id, filter: "completed" });
assert.equal(inBatch.data.length, 2);

const changed = await client.vectorStores.files.update(whale.id, { vector_store_id: store.id, attributes: { kind: "mammal", tons: 150, alive: true } });
assert.deepEqual(changed.attributes, { kind: "mammal", tons: 150, alive: true });
const found = await client.vectorStores.search(store.id, {
  query: ["How heavy is a whale?", "fish"],
  max_num_results: 5,
  filters: { type: "and", filters: [{ type: "gte", key: "tons", value: 100 }, { type: "eq", key: "kind", value: "mammal" }] },
});
assert.equal(found.data.length, 1);
assert.equal(found.data[0].filename, "whale.md");
assert.match(found.data[0].content[0].text, /150 tons/);
assert.ok(found.data[0].score > 0 && found.data[0].score <= 1);

let content = "";
for await (const part of client.vectorStores.files.content(whale.id, { vector_store_id: store.id })) content += part.text;
assert.match(content, /blue whale/);

// The tool, with the client's stream helper.
const stream = client.responses.stream({
  model,
  input: "How heavy is the blue whale?",
  tools: [{ type: "file_search", vector_store_ids: [store.id], max_num_results: 3 }],
  include: ["file_search_call.results"],
});
const types = new Set();
for await (const event of stream) types.add(event.type);
const response = await stream.finalResponse();
const call = response.output.find((item) => item.type === "file_search_call");
assert.equal(call.status, "completed");
assert.equal(call.results[0].filename, "whale.md");
for (const step of ["in_progress", "searching", "completed"]) assert.ok(types.has(`response.file_search_call.${step}`), step);

// The Agents SDK.
setTracingDisabled(true);
const agent = new Agent({ name: "Keeper", model: new OpenAIResponsesModel(client, model), tools: [fileSearchTool([store.id], { maxNumResults: 3, includeSearchResults: true })] });
const run = await new Runner().run(agent, "How heavy is the blue whale?");
assert.ok(run.newItems.some((item) => item.rawItem?.name === "file_search_call" || item.rawItem?.type === "hosted_tool_call"), JSON.stringify(run.newItems));

// The AI SDK.
const provider = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const told = await generateText({
  model: provider.responses(model),
  prompt: "How heavy is the blue whale?",
  tools: { file_search: provider.tools.fileSearch({ vectorStoreIds: [store.id], maxNumResults: 3 }) },
});
assert.ok(told.toolCalls.length + told.content.length > 0);
assert.ok(told.content.some((part) => part.type === "tool-call" && part.toolName === "file_search"), JSON.stringify(told.content));

const removed = await client.vectorStores.files.delete(whale.id, { vector_store_id: store.id });
assert.equal(removed.deleted, true);
assert.equal((await client.vectorStores.search(store.id, { query: "whale" })).data.length, 0);
assert.equal((await client.vectorStores.update(store.id, { name: "Zoo 2", expires_after: null })).expires_after, null);
assert.equal((await client.vectorStores.delete(store.id)).deleted, true);
await assert.rejects(client.vectorStores.retrieve(store.id), (e) => e.status === 404);
console.log("ok: vectorstores");
