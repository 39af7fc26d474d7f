import OpenAI from "openai6";
import { run } from "./openai-any.mjs";

await run(OpenAI);
console.log("ok: openai6");
