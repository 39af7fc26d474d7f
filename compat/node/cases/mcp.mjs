// Servers of the Model Context Protocol that svc reaches: the Agents SDK's
// hostedMcpTool and the AI SDK's openai.tools.mcp, with and without approval.
import { createOpenAI } from "@ai-sdk/openai";
import { Agent, OpenAIResponsesModel, hostedMcpTool, run } from "@openai/agents";
import { generateText, isStepCount, streamText } from "ai";
import OpenAI from "openai";

import { assert, model } from "./common.mjs";

const client = new OpenAI({ maxRetries: 0 });
const everything = process.env.SVC_EVERYTHING;
const files = process.env.SVC_FILES;
const say = (script) => "Do as it says. SCRIPT:" + JSON.stringify(script);
const sum = say({ steps: [[{ name: "everything__get-sum", args: { a: 2, b: 3 } }]], final: "It is five." });
const read = say({ steps: [[{ name: "files__read_text_file", args: { path: process.env.SVC_NOTE } }]], final: "It is 4711." });

// The Agents SDK.
for (const stream of [false, true]) {
  for (const [label, input, want, said] of [["everything", sum, "It is five.", "5"], ["files", read, "It is 4711.", "4711"]]) {
    const agent = new Agent({ name: "a", model: new OpenAIResponsesModel(client, model), tools: [hostedMcpTool({ serverLabel: label, serverUrl: label === "files" ? files : everything })] });
    const result = await run(agent, input, { stream });
    if (stream) {
      for await (const _ of result);
      await result.completed;
    }
    assert.equal(result.finalOutput, want);
    const calls = result.newItems.filter((i) => i.rawItem.providerData?.type === "mcp_call" || i.rawItem.name === "mcp_call" || i.rawItem.providerData?.output);
    assert.ok(JSON.stringify(result.newItems).includes(said), JSON.stringify(calls));
  }
}
for (const approve of [true, false]) {
  const agent = new Agent({ name: "a", model: new OpenAIResponsesModel(client, model), tools: [hostedMcpTool({ serverLabel: "everything", serverUrl: everything, requireApproval: "always" })] });
  let result = await run(agent, sum);
  assert.equal(result.interruptions.length, 1);
  for (const interruption of result.interruptions) {
    if (approve) result.state.approve(interruption);
    else result.state.reject(interruption);
  }
  result = await run(agent, result.state);
  assert.equal(result.finalOutput, "It is five.");
  assert.equal(JSON.stringify(result.newItems).includes("The sum of 2 and 3 is 5"), approve);
}

// The AI SDK.
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const mcp = (requireApproval) => ({ mcp: openai.tools.mcp({ serverLabel: "everything", serverUrl: everything, requireApproval }) });
const answered = await generateText({ model: openai.responses(model), tools: mcp("never"), prompt: sum, stopWhen: isStepCount(3) });
assert.equal(answered.text, "It is five.");
assert.ok(JSON.stringify(answered.steps).includes("The sum of 2 and 3 is 5"));
const streamed = streamText({ model: openai.responses(model), tools: mcp("never"), prompt: sum, stopWhen: isStepCount(3) });
assert.equal(await streamed.text, "It is five.");

for (const approved of [true, false]) {
  const messages = [{ role: "user", content: sum }];
  const asked = await generateText({ model: openai.responses(model), tools: mcp("always"), messages, stopWhen: isStepCount(3) });
  const request = asked.content.find((part) => part.type === "tool-approval-request");
  assert.ok(request, JSON.stringify(asked.content));
  messages.push(...asked.response.messages, { role: "tool", content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved, providerExecuted: true }] });
  const done = await generateText({ model: openai.responses(model), tools: mcp("always"), messages, stopWhen: isStepCount(3) });
  assert.equal(done.text, "It is five.");
  assert.equal(JSON.stringify(done.steps).includes("The sum of 2 and 3 is 5"), approved);
}
console.log("ok: mcp");
