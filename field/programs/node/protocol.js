// The protocol of docs/any-language.md, which the programs of this folder speak.

import { createInterface } from "node:readline";
import { Redis } from "ioredis";

export const answer = (request, type, more = {}) =>
  process.stdout.write(JSON.stringify({ id: request.id, type, ...more }) + "\n");

// ioredis waits forever for an answer unless it is told otherwise.
export const connect = (node, commandTimeout) => {
  const [host, port] = node.address.split(":");
  const client = new Redis({
    host,
    port: Number(port),
    username: node.user,
    password: node.password,
    commandTimeout,
  });
  client.on("error", (e) => console.error(e.message)); // or it ends the process
  return client;
};

/** serve answers requests: hello gives the answer's properties, and build an owner. */
export function serve({ hello, build }) {
  const owners = new Map();
  const running = new Map(); // by id, for cancel
  let nodes;
  process.on("unhandledRejection", (e) => console.error("unhandled:", e));

  const one = async (r) => {
    const controller = new AbortController();
    running.set(r.id, controller);
    try {
      if (r.type === "build") {
        nodes ??= clients.map((node) => connect(node, r.lease_ms / 3));
        owners.set(r.owner, build(r, nodes));
        return answer(r, "ok");
      }
      const owner = owners.get(r.owner);
      const lost = () => answer({}, "lost", { of: r.id });
      if (r.type === "unlock") {
        const held = await owner.unlock();
        return held === false
          ? answer(r, "error", { error: "not_held", text: "not held" })
          : answer(r, "ok");
      }
      const left = r.type === "try" ? 0 : (r.deadline_ms ?? Infinity);
      const granted = await owner.acquire(left, controller.signal, lost);
      if (granted) return answer(r, "granted");
      return r.type === "try"
        ? answer(r, "refused")
        : answer(r, "error", { error: "deadline", text: "not acquired in time" });
    } catch (e) {
      const error = controller.signal.aborted ? "canceled" : (e.word ?? "unknown");
      answer(r, "error", { error, text: String(e.message ?? e) });
    } finally {
      running.delete(r.id);
    }
  };

  let clients;
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const r = JSON.parse(line);
    if (r.type === "hello") {
      clients = r.nodes;
      answer(r, "hello", { protocol: 1, ...hello });
    } else if (r.type === "cancel") {
      running.get(r.of)?.abort();
    } else {
      one(r);
    }
  });
  lines.on("close", () => process.exit(0)); // releases nothing
}
