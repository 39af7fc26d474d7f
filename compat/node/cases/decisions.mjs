// Decisions by OpenAI's client and by that of System One, unchanged.
import OpenAI from "openai";
import { choice, noul, score, TypeSafeClient, UnprocessableEntityError } from "@typesafe-ai/sdk";
import { assert } from "./common.mjs";

const openai = new OpenAI();
const decision = await openai.decisions.create({
  model: "jev-latest",
  input: [
    { role: "user", content: [{ type: "input_text", text: "I was charged twice." }, { type: "input_json", data: { plan: "pro" } }] },
    { type: "function_call", call_id: "1", name: "lookup", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: "two charges" },
  ],
  questions: [
    { type: "predicate", instructions: "Is it about money?" },
    { type: "choice", name: "same", instructions: "Which?", choices: [{ value: true }, { value: "true", description: "the word" }] },
    { type: "score", instructions: [{ type: "input_text", text: "How urgent?" }], levels: [{ label: "low" }, { label: "mid" }, { label: "high" }] },
  ],
  prompt_cache_key: "k",
  safety_identifier: "s",
});
assert.deepEqual(decision.answers.map((a) => [a.type, a.name]), [["predicate", null], ["choice", "same"], ["score", null]]);
assert.ok(decision.answers[0].probability > 0 && decision.answers[0].probability < 1);
assert.deepEqual(decision.answers[1].probabilities.map((p) => p.value), [true, "true"]);
assert.deepEqual(decision.answers[2].probabilities.map((p) => [p.label, p.value]), [["low", 0], ["mid", 1], ["high", 2]]);
assert.ok(decision.usage.input_tokens > 0 && decision.usage.total_tokens === decision.usage.input_tokens);
await assert.rejects(openai.decisions.create({ model: "jev-latest", input: "x", questions: [] }), (e) => e.status === 400 && e.code === "validation_error");

const system = new TypeSafeClient(); // its default model is jev-latest
const response = await system.systemOne({
  state: { document: "I was charged twice. Please fix this ASAP." },
  questions: {
    category: choice("What is this ticket about?", { billing: null, technical: { how: "bugs" }, other: null }),
    urgent: noul(),
    mood: score({ ask: "How angry?" }, ["calm", null, ["very", "angry"]]),
  },
});
assert.equal(response.model, "svc-snap-preview");
assert.ok(["billing", "technical", "other"].includes(response.answers.category.choice));
assert.ok(Math.abs(Object.values(response.answers.category.probabilities).reduce((a, b) => a + b) - 1) < 1e-9);
assert.ok(response.answers.urgent.noul >= 0 && response.answers.urgent.noul <= 1);
assert.deepEqual(response.answers.mood.legend, { 0: "calm", 1: null, 2: ["very", "angry"] });
const { requestId } = await system.systemOne({ state: "x", questions: { a: noul("?") } }).withResponse();
assert.match(requestId, /^req_/);
const models = await system.models.list();
assert.ok(models.some((m) => m.name === "svc-snap-preview" && m.description && /^\d{4}-\d\d-\d\d$/.test(m.release_date)));
await assert.rejects(system.systemOne({ state: null, questions: { a: noul("?") } }), UnprocessableEntityError);
console.log("ok: decisions");
