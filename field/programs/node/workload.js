// Sells a stock behind redis-semaphore's Mutex, for the benchmark: see
// docs/any-language.md.

import { createInterface } from "node:readline";
import { Mutex } from "redis-semaphore";
import { connect } from "./protocol.js";

async function sell(request, node) {
  const { key, stock, owners, turns, lease_ms: lease, poll_ms: poll } = request;
  const sections = [];
  const failures = [];
  let taken = 0;
  let lost = 0;
  const clients = Array.from({ length: owners }, () => connect(node));
  await Promise.all(clients.map((client) => client.ping())); // all are connected
  const began = performance.now();
  const now = () => Math.round((performance.now() - began) * 1000);
  const owner = async (client) => {
    for (let n = 0; n < turns; n++) {
      const mutex = new Mutex(client, key, {
        lockTimeout: lease,
        acquireTimeout: Infinity,
        retryInterval: poll,
      });
      const asked = now();
      try {
        await mutex.acquire();
        const entered = now();
        const left = Number(await client.get(stock));
        if (left > 0) {
          const after = await client.decr(stock);
          taken++;
          lost += after !== left - 1;
        }
        sections.push([asked, entered, now()]);
        await mutex.release();
      } catch (e) {
        failures.push(String(e));
      }
    }
  };
  await Promise.all(clients.map(owner));
  return { sections, taken, lost_updates: lost, failures: failures.length, text: failures[0] ?? "" };
}

let node;
const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const request = JSON.parse(line);
  let says = { type: "hello", protocol: 1, library: "redis-semaphore 5.8.0" };
  if (request.type === "hello") node = request.nodes[0];
  else says = { type: "sold", ...(await sell(request, node)) };
  process.stdout.write(JSON.stringify({ id: request.id, ...says }) + "\n");
});
lines.on("close", () => process.exit(0));
