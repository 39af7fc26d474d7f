// What the cases share: the task that the scripted model server is given, the
// functions that it calls, and a way to fail.
import assert from "node:assert/strict";

export { assert };
export const model = process.env.SVC_MODEL;

const say = (script) => "Do as it says. SCRIPT:" + JSON.stringify(script);

// parallel calls two functions at once and one after them.
export const parallel = say({
  steps: [
    [{ name: "get_weather", args: { city: "Paris" } }, { name: "get_weather", args: { city: "Bonn" } }],
    [{ name: "get_time", args: { zone: "UTC" } }],
  ],
  final: "Sunny at noon.",
});
export const plain = say({ steps: [], final: "Hello there." });
export const structured = say({ steps: [], final: '{"city":"Paris","degrees":21}' });

export const results = { get_weather: ({ city }) => `sunny in ${city}`, get_time: () => "12:00" };
export const wanted = ["get_weather Paris", "get_weather Bonn", "get_time UTC"];

export const parameters = {
  get_weather: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
  get_time: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"], additionalProperties: false },
};
export const schema = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "number" } },
  required: ["city", "degrees"],
  additionalProperties: false,
};

// called runs a function and notes that it was.
export function called(log, name, args) {
  log.push(`${name} ${Object.values(args)[0]}`);
  return results[name](args);
}
