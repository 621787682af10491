// The solutions of docs/challenges.md in JavaScript, and wrong ones: lock.mjs MODE.

import { randomUUID } from "node:crypto";
import { Lock as Starter, serve, sleep } from "../../../../docs/challenges/lock.mjs";

const COMPARES = "if redis.call('GET', KEYS[1]) == ARGV[1] then return";
const RELEASE = `${COMPARES} redis.call('DEL', KEYS[1]) end return 0`;
const RENEW = `${COMPARES} redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;
const FENCED =
  "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0";

// What a mode changes; a wrong one is named for its step and for its mistake.
const BRONZE = { take: "setnx", lease: "none", free: "del" };
const SILVER = { ...BRONZE, lease: "after" };
const GOLD = { ...BRONZE, take: "set nx px" };
const PLATINUM = { ...GOLD, token: "grant", free: "get" };
const DIAMOND = { ...PLATINUM, free: "script" };
const WATCHDOG = { ...DIAMOND, renews: true, tells: true };
const FENCING = { ...WATCHDOG, take: "fenced" };
const REDLOCK = { ...DIAMOND, take: "majority", quorum: 3 };
let counted = 0;
const mode = {
  1: BRONZE,
  2: SILVER,
  3: GOLD,
  4: PLATINUM,
  5: DIAMOND,
  6: WATCHDOG,
  7: FENCING,
  8: REDLOCK,
  "1 grants everything": { ...BRONZE, take: "nothing" },
  "1 in this process": { ...BRONZE, take: "memory" },
  "1 keeps it": { ...BRONZE, free: "nothing" },
  "1 another key": { ...BRONZE, key: "mine" },
  "2 no lease": BRONZE,
  "2 an hour": { ...SILVER, seconds: 3600 },
  "2 milliseconds for seconds": { ...SILVER, factor: 1000 },
  "2 the lease first": { ...SILVER, lease: "before" },
  "3 two commands": SILVER,
  "3 without NX": { ...GOLD, take: "set px" },
  "3 ten minutes": { ...GOLD, seconds: 600 },
  "3 waits for the end": { ...GOLD, free: "nothing" },
  "4 no token": GOLD,
  "4 the owner's number": { ...PLATINUM, token: "number" },
  "4 one for a process": { ...PLATINUM, token: "process" },
  "4 compares and deletes anyway": { ...PLATINUM, free: "get or not" },
  "5 two commands": PLATINUM,
  "5 deletes in a script": { ...DIAMOND, free: "blind script" },
  "5 the script only compares": { ...DIAMOND, free: "script, del" },
  "5 one for a handle": { ...DIAMOND, token: "handle" },
  "6 no renewal": DIAMOND,
  "6 says that it renews": { ...WATCHDOG, every: 1e9 },
  "6 tells nobody": { ...WATCHDOG, tells: false },
  "6 believes a late grant": { ...WATCHDOG, late: true },
  "7 no token": WATCHDOG,
  "7 always one": { ...FENCING, fence: () => 1 },
  "7 counts down": { ...FENCING, fence: (n) => 2 ** 32 - n },
  "7 counts by itself": { ...FENCING, fence: () => ++counted },
  "8 one server": DIAMOND,
  "8 all of five": { ...REDLOCK, quorum: 5 },
  "8 two of five": { ...REDLOCK, quorum: 2 },
  "8 counts no time": { ...REDLOCK, late: true, inTurn: true },
}[process.argv[2]];
const several = mode.take === "majority";
const memory = new Map();
const ofProcess = randomUUID();
let owners = 0;
const now = () => performance.now() / 1000;

class Lock extends Starter {
  static hello = {
    ...(mode.renews && { features: ["renewal", "lost", ...(mode.take === "fenced" ? ["fencing"] : [])] }),
    ...(mode.take === "fenced" && { keeps: ["{{key}}:token"] }),
    ...(several && { servers: 5 }),
  };

  constructor(...args) {
    super(...args);
    this.key = mode.key ?? this.key;
    this.ms = Math.trunc((mode.seconds ?? this.lease) * 1000) * (mode.factor ?? 1);
    if (mode.inTurn) this.nodeTimeout = 0.3 * this.lease;
    this.tokens = { number: owners++, handle: randomUUID(), process: ofProcess };
  }

  async tryLock() {
    const token = mode.token === "grant" ? randomUUID() : (this.tokens[mode.token] ?? "x");
    const sent = now();
    const granted = await this.take(token);
    const over = (mode.renews || several) && !mode.late;
    const drift = several ? this.lease / 100 + 0.002 : 0;
    if (granted && over && now() - sent + drift >= this.lease) {
      await this.free(token);
      return false;
    }
    if (!granted && several) await this.free(token); // what some servers granted
    if (granted) this.value = token;
    if (granted && mode.renews) this.watch(token, sent);
    return granted;
  }

  async take(token) {
    const [redis] = this.redis;
    const set = ["SET", this.key, token, "NX", "PX", this.ms];
    switch (mode.take) {
      case "nothing":
        return true;
      case "memory":
        if (!memory.has(this.key)) memory.set(this.key, this);
        return memory.get(this.key) === this;
      case "set nx px":
        return (await redis(set)) === "OK";
      case "set px":
        return (await redis(["SET", this.key, token, "PX", this.ms])) === "OK";
      case "fenced": {
        const n = await redis(["EVAL", FENCED, 2, this.key, `{${this.key}}:token`, token, this.ms]);
        return n && (mode.fence ?? ((same) => same))(n);
      }
      case "majority":
        return (await this.all(async (r) => (await r(set, this.nodeTimeout)) === "OK")) >= mode.quorum;
    }
    if (mode.lease === "before") await redis(["PEXPIRE", this.key, this.ms]);
    const granted = (await redis(["SETNX", this.key, token])) === 1;
    if (granted && mode.lease === "after") await redis(["PEXPIRE", this.key, this.ms]);
    return granted;
  }

  async all(command) {
    const answers = [];
    if (mode.inTurn) for (const r of this.redis) answers.push(...(await Promise.allSettled([command(r)])));
    else answers.push(...(await Promise.allSettled(this.redis.map(command))));
    return answers.filter((a) => a.value).length;
  }

  async unlock() {
    if (this.held) this.held.done = true;
    return this.free(this.value);
  }

  async free(token) {
    const [redis] = this.redis;
    const release = ["EVAL", RELEASE, 1, this.key, token];
    if (mode.take === "memory") return memory.delete(this.key);
    if (several) return (await this.all(async (r) => (await r(release, this.nodeTimeout)) === 1)) >= mode.quorum;
    switch (mode.free) {
      case "nothing":
        return true;
      case "script":
        return (await redis(release, this.lease)) === 1;
      case "blind script":
        return (await redis(["EVAL", "return redis.call('DEL', KEYS[1])", 1, this.key])) === 1;
    }
    let mine = true;
    if (mode.free === "script, del") {
      mine = await redis(["EVAL", "return redis.call('GET', KEYS[1]) == ARGV[1]", 1, this.key, token]);
    } else if (mode.free !== "del") {
      mine = (await redis(["GET", this.key])) === String(token) || mode.free === "get or not";
    }
    return Boolean(mine) && (await redis(["DEL", this.key])) === 1;
  }

  async watch(token, sent) {
    const held = (this.held = { done: false });
    const lost = this.lost; // of this grant
    const third = this.lease / 3;
    let end = sent + this.lease;
    let wait = third * (mode.every ?? 1);
    for (;;) {
      await sleep(Math.max(Math.min(wait, end - now()), 0));
      const began = now();
      if (held.done || began >= end) break;
      try {
        const renewal = ["EVAL", RENEW, 1, this.key, token, this.ms];
        if ((await this.redis[0](renewal, Math.min(third, end - began))) === 0) break;
        end = began + this.lease;
        wait = third;
      } catch {
        wait = third / 4;
      }
    }
    if (!held.done && mode.tells) lost();
  }
}

serve(Lock);
