// Batches and webhooks with the official client, whose unwrap and the library of
// Standard Webhooks verify what is posted.
import { createServer } from "node:http";
import { once } from "node:events";
import OpenAI, { toFile } from "openai";
import { Webhook } from "standardwebhooks";
import { assert } from "./common.mjs";

const client = new OpenAI();
const waiting = [];
const events = [];
const receiver = createServer(async (req, res) => {
  let body = "";
  for await (const piece of req) body += piece;
  res.writeHead(204).end();
  const event = { body, headers: req.headers };
  const next = waiting.shift();
  next ? next(event) : events.push(event);
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const received = () => (events.length > 0 ? Promise.resolve(events.shift()) : new Promise((done) => waiting.push(done)));

const endpoint = await client.webhooks.create({
  name: "Mine",
  url: `http://127.0.0.1:${receiver.address().port}/`,
  event_types: ["batch.completed", "response.completed"],
});
assert.match(endpoint.signing_secret, /^whsec_/);
assert.equal(endpoint.signing_secret_hint, "…" + endpoint.signing_secret.slice(-4));

// expect returns the next event, which both libraries must verify.
async function expect(secret, type) {
  const { body, headers } = await received();
  const event = await client.webhooks.unwrap(body, headers, secret);
  assert.equal(event.type, type);
  assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body));
  await assert.rejects(client.webhooks.unwrap(body + " ", headers, secret));
  return event;
}

const tested = await client.webhooks.test(endpoint.id, { event_type: "batch.completed" });
assert.deepEqual([tested.success, tested.status_code, tested.webhook_endpoint_id], [true, 204, endpoint.id]);
await expect(endpoint.signing_secret, "batch.completed");

const lines = [1, 2, 3].map((n) =>
  JSON.stringify({
    custom_id: `line ${n}`,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "svc-preview", messages: [{ role: "user", content: `Say the number ${n}.` }] },
  }),
);
const file = await client.files.create({ file: await toFile(Buffer.from(lines.join("\n")), "in.jsonl"), purpose: "batch" });
assert.equal(file.purpose, "batch");
const batch = await client.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata: { a: "b" } });
assert.equal(batch.status, "validating");
const event = await expect(endpoint.signing_secret, "batch.completed");
assert.equal(event.data.id, batch.id);
const done = await client.batches.retrieve(batch.id);
assert.deepEqual([done.status, done.request_counts], ["completed", { total: 3, completed: 3, failed: 0 }]);
assert.ok(done.usage.input_tokens > 0 && done.completed_at >= done.created_at);
const output = (await (await client.files.content(done.output_file_id)).text()).trim().split("\n").map(JSON.parse);
assert.deepEqual(output.map((line) => [line.custom_id, line.response.status_code]), [["line 1", 200], ["line 2", 200], ["line 3", 200]]);
assert.equal(output[0].response.body.object, "chat.completion");
const listed = [];
for await (const b of client.batches.list({ limit: 1 })) listed.push(b.id);
assert.deepEqual(listed, [batch.id]);
await assert.rejects(client.batches.cancel(batch.id), OpenAI.ConflictError);

const rotated = await client.webhooks.rotateSecret(endpoint.id, { keep_old_secret_active_for_24_hours: true });
const response = await client.responses.create({ model: "svc-preview", input: "Hi", background: true });
const ended = await expect(rotated.signing_secret, "response.completed");
assert.equal(ended.data.id, response.id);

assert.equal((await client.webhooks.update(endpoint.id, { name: "Yours" })).name, "Yours");
assert.equal((await client.webhooks.retrieve(endpoint.id)).name, "Yours");
const endpoints = [];
for await (const e of client.webhooks.list()) endpoints.push(e.id);
assert.deepEqual(endpoints, [endpoint.id]);
assert.ok((await client.webhooks.eventTypes.list()).data.includes("batch.expired"));
assert.equal((await client.webhooks.delete(endpoint.id)).deleted, true);
await assert.rejects(client.webhooks.create({ name: "a", url: "https://10.0.0.1/", event_types: ["batch.failed"] }), OpenAI.BadRequestError);
receiver.close();
console.log("ok: batches");
