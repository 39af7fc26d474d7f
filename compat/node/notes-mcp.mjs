// An MCP server over standard input and output with one tool, as small as the
// protocol lets it be.
import { createInterface } from "node:readline";

const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  switch (method) {
    case "initialize":
      return reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } });
    case "tools/list":
      return reply(id, {
        tools: [{ name: "remember", description: "Remembers a note.", inputSchema: { type: "object", properties: { note: { type: "string" } }, required: ["note"] } }],
      });
    case "tools/call":
      return reply(id, { content: [{ type: "text", text: "remembered: " + params.arguments.note }] });
    default:
      return reply(id, {});
  }
});
