// The AI SDK's helper for batches: started, listed, awaited and read; one that is not
// valid, and one that is cancelled when it has ended.
import { createOpenAI } from "@ai-sdk/openai";
import {
  experimental_cancelBatch as cancelBatch,
  experimental_getBatchResults as getBatchResults,
  experimental_getBatchStatus as getBatchStatus,
  experimental_listBatches as listBatches,
  experimental_startBatch as startBatch,
} from "ai";
import { assert } from "./common.mjs";

const provider = createOpenAI({});
const ask = (id, prompt, model = "svc-preview") => ({ id, type: "text", model, prompt });

async function ended(batch) {
  for (;;) {
    const status = await getBatchStatus({ provider, batch });
    if (status.status !== "pending") return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function results(batch) {
  const all = [];
  for await (const result of getBatchResults({ provider, batch })) all.push(result);
  return all;
}

const batch = await startBatch({ provider, requests: [ask("one", "The shop opens at nine. When does the shop open?"), ask("two", "Hello.")] });
assert.deepEqual(batch.warnings, []);
assert.equal((await ended(batch)).status, "completed");
const answers = await results(batch);
assert.deepEqual(answers.map((a) => [a.id, a.status, a.finishReason]), [["one", "succeeded", "stop"], ["two", "succeeded", "stop"]]);
assert.ok(answers[0].text.includes("nine") && answers[0].usage.inputTokens > 0);

const wrong = await startBatch({ provider, requests: [ask("one", "Hello.", "none")] });
assert.equal((await ended(wrong)).status, "failed");
const listed = await listBatches({ provider, limit: 1 });
assert.deepEqual([listed.batches.map((b) => b.id), typeof listed.nextCursor], [[wrong.id], "string"]);
await assert.rejects(cancelBatch({ provider, batch }));
console.log("ok: ai-sdk-batch");
