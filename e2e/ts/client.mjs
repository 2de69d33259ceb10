// The official TypeScript SDK's client against the real program. It prints one line a fact, in the form of the Test
// Anything Protocol, and leaves the judging of the exit code to its caller.
//
//   node client.mjs PROGRAM ARGUMENT…

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema, ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import Ajv2020 from "ajv/dist/2020.js";
import process from "node:process";

const [program, ...args] = process.argv.slice(2);

let count = 0;
let failed = 0;
function fact(holds, what, seen) {
  count++;
  if (!holds) failed++;
  console.log(`${holds ? "ok" : "not ok"} ${count} - ${what}`);
  if (!holds) console.log(`# ${JSON.stringify(seen) ?? ""}`.slice(0, 2000));
}

const transport = new StdioClientTransport({ command: program, args, env: process.env, stderr: "inherit" });
const client = new Client({ name: "typescript-sdk", version: "1.0.0" }, { capabilities: {} });
const complaints = [];
client.onerror = (error) => complaints.push(String(error));

const text = (result) => result.content.map((c) => c.text ?? "").join("");
const facts = (result) => result._meta?.["sallyport/result"] ?? {};
const call = (name, parameters, options) => client.callTool({ name, arguments: parameters }, undefined, options);

await client.connect(transport);
fact(client.getServerVersion()?.name === "sallyport", "the server says its name", client.getServerVersion());
fact(Boolean(client.getServerCapabilities()?.tools), "the server offers tools", client.getServerCapabilities());
fact((client.getInstructions() ?? "").length <= 2048, "its instructions are short", client.getInstructions());

// The tools, as every client lists them, and their schemas as the strictest would read them.
const listed = ListToolsResultSchema.safeParse(await client.request({ method: "tools/list", params: {} }, ListToolsResultSchema));
fact(listed.success, "the list keeps to the SDK's schema", listed.error);
const { tools } = await client.listTools();
fact(tools.map((t) => t.name).join() === "exec,process", "exec and process are listed", tools.map((t) => t.name));
for (const tool of tools) {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true });
  let problem;
  try {
    ajv.compile(tool.inputSchema);
  } catch (error) {
    problem = String(error);
  }
  fact(problem === undefined, `the schema of ${tool.name} is strictly valid`, problem);
  fact(tool.inputSchema.type === "object", `${tool.name} takes an object`, tool.inputSchema.type);
  fact(
    Object.values(tool.inputSchema.properties).every((p) => p.description || p.enum || p.type),
    `every parameter of ${tool.name} says something of itself`,
    tool.inputSchema.properties,
  );
  fact(typeof tool.annotations?.destructiveHint === "boolean", `${tool.name} says whether it changes things`, tool.annotations);
}

// In the foreground.
let r = await call("exec", { command: "echo out; echo err >&2; exit 3" });
fact(CallToolResultSchema.safeParse(r).success, "a result keeps to the SDK's schema", r);
fact(text(r).includes("out") && text(r).includes("err"), "both streams are in the text", text(r));
fact(facts(r).exitCode === 3 && facts(r).status === "completed" && !r.isError, "exit 3 is a completed command", r);
r = await call("exec", { argv: ["printf", "%s", "a b"] });
fact(text(r).includes("a b"), "argv runs without a shell", text(r));

// In the background: yield, poll, kill.
r = await call("exec", { command: "echo begun; sleep 300", yieldMs: 200 });
const id = facts(r).sessionId;
fact(facts(r).status === "running" && Boolean(id), "a long command yields a session", r);
r = await call("process", { action: "poll", sessionId: id, timeout: 200 });
fact(facts(r).status === "running" && !r.isError, "polling a quiet session waits and says that it runs", r);
r = await call("process", { action: "list" });
fact(text(r).includes(id), "the session is in the list", text(r));
r = await call("process", { action: "kill", sessionId: id });
fact(!r.isError, "it can be killed", r);
r = await call("process", { action: "poll", sessionId: id, timeout: 5000 });
fact(facts(r).status !== "running", "and then it runs no more", r);

// Progress, while a command runs, for who asked for it.
let progress = 0;
await call("exec", { command: "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done" }, { onprogress: () => progress++ });
fact(progress > 0, "progress is told while a command runs", progress);

// What goes wrong is said in words.
r = await call("exec", { comand: "ls" });
fact(r.isError && text(r).includes("command"), "an unknown parameter names the right one", r);
r = await call("process", { action: "poll", sessionId: "no-such-session" });
fact(facts(r).status === "failed" && text(r).includes("no-such-session"), "an unknown session is a failure in words", r);
r = await call("exec", { command: "ls", workdir: "/no/such/directory" });
fact(r.isError && text(r).includes("/no/such/directory"), "a missing directory is a failed result", r);
const unknown = await call("no_such_tool", {}).then(
  (result) => result.isError === true,
  (error) => typeof error.code === "number",
);
fact(unknown, "an unknown tool is refused", unknown);

// A call that is given up.
const abort = new AbortController();
const abandoned = call("exec", { command: "sleep 300" }, { signal: abort.signal }).catch(() => "gone");
abort.abort("enough");
fact((await abandoned) === "gone", "a call can be given up", null);
r = await call("exec", { command: "echo alive" });
fact(text(r).includes("alive"), "and the server serves on", text(r));

fact(complaints.length === 0, "the client has no complaint", complaints);
await client.close();
console.log(`1..${count}`);
process.exitCode = failed ? 1 : 0;
