import assert from "node:assert/strict";

import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";

import { model, plain } from "./common.mjs";
import { run } from "./openai-any.mjs";

await run(OpenAI);

// Two turns on one connection, the second of which continues the first, which is
// stored nowhere.
const socket = new ResponsesWS(new OpenAI({ maxRetries: 0 }));
const turn = (body) =>
  new Promise((resolve, reject) => {
    const listen = (event) => {
      if (event.type !== "response.completed") return;
      socket.off("event", listen);
      resolve(event.response);
    };
    socket.on("event", listen);
    socket.on("error", reject);
    socket.send({ type: "response.create", model, store: false, ...body });
  });
const first = await turn({ input: plain });
const second = await turn({ input: plain, previous_response_id: first.id });
assert.equal(second.previous_response_id, first.id);
assert.equal(second.output[0].content[0].text, "Hello there.");
socket.close();
console.log("ok: openai");
