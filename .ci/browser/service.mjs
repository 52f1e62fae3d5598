// The service under test, on a free port and with an in-memory database.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";

const TIMEOUT = 300_000;

/** Starts the service. Resolves after it has printed its URLs and keys. */
export async function start(binary, options = []) {
  const child = spawn(binary, ["--memory", "--port", "0", ...options], { stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => child.kill();
  process.once("exit", kill);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the service did not start:\n${log}`)), TIMEOUT);
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      if (/^Open .*\n/m.test(output)) {
        clearTimeout(timer);
        resolve();
      }
    });
    ended.then((code) => reject(new Error(`the service ended with ${code}:\n${log}`)));
  });
  const printed = (pattern) => {
    const found = output.match(pattern);
    if (!found) {
      throw new Error(`the service's output does not match ${pattern}:\n${output}`);
    }
    return found;
  };
  const base = printed(/^Rolecall +(\S+)$/m)[1];
  const organization = (name) => {
    const [, email, password] = printed(new RegExp(`^${name} sign-in *\\S+  (\\S+)  (.+)$`, "m"));
    const key = (mode) => printed(new RegExp(`^${name} ${mode} +(\\S+)$`, "m"))[1];
    return { name, live: key("live"), test: key("test"), owner: { email, password } };
  };
  return {
    base,
    /** The origin of the uploaded files. */
    files: printed(/^Files +(\S+)$/m)[1],
    acme: organization("Acme"),
    globex: organization("Globex"),
    /** Asserts that the log has no credentials, passwords or e-mail addresses. */
    requireCleanLog() {
      assert.match(log, /route=/);
      assert.doesNotMatch(log, /rc_(?!client_)[a-z]+_\w{20,}/);
      assert.doesNotMatch(log, /password[:= ]/i);
      assert.doesNotMatch(log, /[\w.]+@[\w.]+\.(example|com)/);
    },
    /** Calls the API; the credential may be null. Returns the status and the JSON body. */
    async call(credential, method, path, body) {
      const headers = { "content-type": "application/json" };
      if (credential) {
        headers.authorization = `Bearer ${credential}`;
      }
      const response = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    },
    /** Calls the API and throws unless it succeeds. Returns the JSON body. */
    async create(credential, path, body) {
      const answer = await this.call(credential, "POST", path, body);
      if (answer.status >= 300) {
        throw new Error(`POST ${path} returned ${answer.status}: ${JSON.stringify(answer.body)}`);
      }
      return answer.body;
    },
    async stop() {
      kill();
      await ended;
      process.off("exit", kill);
    },
  };
}
