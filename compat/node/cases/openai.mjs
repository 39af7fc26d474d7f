import OpenAI from "openai";
import { run } from "./openai-any.mjs";

await run(OpenAI);
console.log("ok: openai");
