import OpenAI from "openai4";
import { run } from "./openai-any.mjs";

await run(OpenAI);
console.log("ok: openai4");
