// The official Node client against a server: every step asserts, the last line says that all went well.
// Usage: node client.mjs BASE_URL, in a folder whose node_modules has the package `openai`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.cwd() + "/"));
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")));

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "unused", maxRetries: 0 });
const tools = [
  {
    type: "function",
    function: {
      name: "open_file",
      description: "Open a file.",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    },
  },
];
const user = (content) => [{ role: "user", content }];

// names of the model
const names = [];
for await (const model of client.models.list()) names.push(model.id);
assert.ok(names.includes("gerbang"));

// a plain answer, whole and streamed
const plain = await client.chat.completions.create({ model: "gerbang", messages: user("hello") });
assert.equal(plain.choices[0].message.content, "Hello there.");
assert.equal(plain.gerbang.status, "completed");
const stream = await client.chat.completions.create({
  model: "gerbang",
  messages: user("hello"),
  stream: true,
  stream_options: { include_usage: true },
});
let text = "";
let usage = null;
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta.content ?? "";
  usage = chunk.usage ?? usage;
}
assert.equal(text, "Hello there.");
assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);

// tools of the server
const weather = await client.chat.completions.create({ model: "gerbang", messages: user("weather") });
assert.equal(weather.choices[0].message.content, "Let me look.\n\nIt is 21 degrees.");

// tools of the client, put together by the client's own stream reader
const reader = client.chat.completions.stream({ model: "gerbang", messages: user("open"), tools });
const asked = await reader.finalChatCompletion();
assert.equal(asked.choices[0].finish_reason, "tool_calls");
const [call] = asked.choices[0].message.tool_calls;
assert.deepEqual(JSON.parse(call.function.arguments), { path: "a.txt" });
const answer = await client.chat.completions.create({
  model: "gerbang",
  messages: [
    ...user("open"),
    asked.choices[0].message,
    { role: "tool", tool_call_id: call.id, content: "the text" },
  ],
  tools,
});
assert.equal(answer.choices[0].message.content, "The file says so.");

// the client's own loop over its tools
const opened = [];
const runner = client.chat.completions.runTools({
  model: "gerbang",
  messages: user("both"),
  tools: [
    {
      type: "function",
      function: {
        ...tools[0].function,
        parse: JSON.parse,
        function: ({ path }) => {
          opened.push(path);
          return "the text of " + path;
        },
      },
    },
  ],
});
assert.equal(await runner.finalContent(), "Warm, and the file says so.");
assert.deepEqual(opened, ["a.txt"]);

// errors
await assert.rejects(client.chat.completions.create({ model: "nothing", messages: user("x") }), (error) => {
  assert.ok(error instanceof OpenAI.NotFoundError);
  assert.equal(error.code, "model_not_found");
  assert.equal(error.param, "model");
  return true;
});
await assert.rejects(
  client.chat.completions.create({ model: "gerbang", messages: user("x"), n: 2 }),
  (error) => error instanceof OpenAI.BadRequestError && error.param === "n",
);
console.log("all went well");
