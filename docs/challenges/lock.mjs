// A lock of your own: change the class Lock, and nothing below it.
//
// The check speaks with it through standard input and output, see docs/any-language.md.
// Your own messages go to standard error: console.error("...").

import { connect } from "node:net";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/**
 * One owner of the lock with the name key, for lease seconds.
 *
 * await redis[0](["SET", key, "x"]) sends a command to the first server and gives its
 * answer: null, a number, a string, or an array. It throws if there is none within the
 * seconds that may follow the command, or if Redis answers with an error.
 */
export class Lock {
  static hello = {}; // what the lock offers: the later challenges say what to put here

  constructor(redis, key, lease, nodeTimeout) {
    // nodeTimeout is how long one server of several may take
    Object.assign(this, { redis, key, lease, nodeTimeout });
  }

  /** Makes one attempt. Returns true if granted, or the fencing token. */
  async tryLock() {
    return true;
  }

  /** Releases the lock. Returns false if it was not this owner's. */
  async unlock() {
    return true;
  }

  /** Call this when the lease is gone before unlock. serve puts its own in place. */
  lost() {}
}

export const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** A server, with as many connections as are in use at the same time. */
function server(node) {
  const at = node.address.lastIndexOf(":");
  const [host, port] = [node.address.slice(0, at), Number(node.address.slice(at + 1))];
  let idle = [];
  return async (words, timeout = 100) => {
    const used = idle.pop() ?? open(host, port);
    const timer = setTimeout(() => used.socket.destroy(new Error("no answer in time")), timeout * 1000);
    try {
      if (node.password && !used.known) {
        await used.ask(["AUTH", ...(node.user ? [node.user] : []), node.password]);
        used.known = true;
      }
      const answer = await used.ask(words);
      idle.push(used);
      if (answer instanceof Error) throw answer;
      return answer;
    } catch (e) {
      if (used.broken) idle = []; // the others broke, too
      throw e;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** A connection, which is asked one thing at a time. */
function open(host, port) {
  const socket = connect({ host, port, noDelay: true });
  const self = { socket, known: false, broken: false };
  let received = Buffer.alloc(0);
  let asked;
  self.ask = (words) =>
    new Promise((done, failed) => {
      asked = { done, failed };
      if (self.broken) return failed(self.broken);
      const parts = words.map((word) => Buffer.from(String(word)));
      const text = parts.map((p) => `$${p.length}\r\n${p}\r\n`).join("");
      socket.write(`*${parts.length}\r\n${text}`);
    });
  const end = (e) => {
    self.broken ||= e;
    asked?.failed(e);
  };
  socket.on("error", end);
  socket.on("close", () => end(new Error("the server closed the connection")));
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    const answer = read(received, 0);
    if (!answer) return;
    received = received.subarray(answer.next);
    asked.done(answer.value);
  });
  return self;
}

/** The answer that begins there and where it ends, if all of it has come. */
function read(bytes, from) {
  const end = bytes.indexOf("\r\n", from);
  if (end < 0) return undefined;
  const [kind, rest] = [String.fromCharCode(bytes[from]), bytes.toString("utf8", from + 1, end)];
  let next = end + 2;
  if (kind === "+") return { value: rest, next };
  if (kind === "-") return { value: new Error(rest), next };
  const n = Number(rest);
  if (kind === ":") return { value: n, next };
  if (n < 0) return { value: null, next };
  if (kind === "$") {
    const whole = bytes.length >= next + n + 2;
    return whole ? { value: bytes.toString("utf8", next, next + n), next: next + n + 2 } : undefined;
  }
  const values = [];
  while (values.length < n) {
    const one = read(bytes, next);
    if (!one) return undefined;
    values.push(one.value);
    next = one.next;
  }
  return { value: values, next };
}

/** serve answers the check's requests with owners of that class. */
export function serve(Make) {
  const owners = new Map();
  let servers;
  let pause = 0.1;
  const answer = (r, type, more = {}) =>
    process.stdout.write(JSON.stringify({ id: r.id, type, ...more }) + "\n");

  const wait = async (r) => {
    const owner = owners.get(r.owner);
    const end = r.deadline_ms ? performance.now() / 1000 + r.deadline_ms / 1000 : Infinity;
    owner.lost = () => answer({}, "lost", { of: r.id });
    for (;;) {
      const granted = await owner.tryLock();
      if (granted) return answer(r, "granted", granted === true ? {} : { token: granted });
      if (r.type === "try") return answer(r, "refused");
      const rest = pause * (0.5 + Math.random() / 2);
      if (performance.now() / 1000 + rest >= end) {
        return answer(r, "error", { error: "deadline", text: "not granted in time" });
      }
      await sleep(rest);
    }
  };

  const one = async (r) => {
    try {
      if (r.type !== "unlock") return await wait(r);
      if (await owners.get(r.owner).unlock()) return answer(r, "ok");
      return answer(r, "error", { error: "not_held", text: "not this owner's" });
    } catch (e) {
      return answer(r, "error", { error: "unknown", text: String(e.message ?? e) });
    }
  };

  const lines = createInterface({ input: process.stdin });
  lines.on("close", () => process.exit(0)); // and release nothing
  lines.on("line", (line) => {
    const r = JSON.parse(line);
    if (r.type === "hello") {
      servers = r.nodes.map(server);
      answer(r, "hello", { protocol: 1, ...Make.hello });
    } else if (r.type === "build") {
      const lease = r.lease_ms / 1000;
      pause = (r.poll_ms ?? 100) / 1000;
      owners.set(r.owner, new Make(servers, r.key, lease, (r.node_timeout_ms ?? lease * 50) / 1000));
      answer(r, "ok");
    } else if (r.type !== "cancel") one(r);
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) serve(Lock);
