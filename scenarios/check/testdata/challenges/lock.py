"""The solutions of docs/challenges.md in Python, and wrong ones: lock.py MODE."""

import itertools
import os
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(__file__), *[".."] * 4, "docs", "challenges"))
import lock as starter  # noqa: E402

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
FENCED = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0"

# What a mode changes; a wrong one is named for its step and for its mistake.
BRONZE = dict(take="setnx", lease="none", token=None, free="del", renew=False)
SILVER = BRONZE | dict(lease="after")
GOLD = BRONZE | dict(take="set nx px")
PLATINUM = GOLD | dict(token="grant", free="get")
DIAMOND = PLATINUM | dict(free="script")
WATCHDOG = DIAMOND | dict(renew=True, tells=True)
FENCING = WATCHDOG | dict(take="fenced")
REDLOCK = DIAMOND | dict(take="majority", quorum=3)
MODES = {
    "1": BRONZE,
    "2": SILVER,
    "3": GOLD,
    "4": PLATINUM,
    "5": DIAMOND,
    "6": WATCHDOG,
    "7": FENCING,
    "8": REDLOCK,
    "1 grants everything": BRONZE | dict(take="nothing"),
    "1 in this process": BRONZE | dict(take="memory"),
    "1 keeps it": BRONZE | dict(free="nothing"),
    "1 another key": BRONZE | dict(key="mine"),
    "2 no lease": BRONZE,
    "2 an hour": SILVER | dict(seconds=3600),
    "2 milliseconds for seconds": SILVER | dict(factor=1000),
    "2 the lease first": SILVER | dict(lease="before"),
    "3 two commands": SILVER,
    "3 without NX": GOLD | dict(take="set px"),
    "3 ten minutes": GOLD | dict(seconds=600),
    "3 waits for the end": GOLD | dict(free="nothing"),
    "4 no token": GOLD,
    "4 the owner's number": PLATINUM | dict(token="number"),
    "4 one for a process": PLATINUM | dict(token="process"),
    "4 compares and deletes anyway": PLATINUM | dict(free="get or not"),
    "5 two commands": PLATINUM,
    "5 deletes in a script": DIAMOND | dict(free="blind script"),
    "5 the script only compares": DIAMOND | dict(free="script, del"),
    "5 one for a handle": DIAMOND | dict(token="handle"),
    "6 no renewal": DIAMOND,
    "6 says that it renews": WATCHDOG | dict(every=1e9),
    "6 tells nobody": WATCHDOG | dict(tells=False),
    "6 believes a late grant": WATCHDOG | dict(late=True),
    "7 no token": WATCHDOG,
    "7 always one": FENCING | dict(fence=lambda n: 1),
    "7 counts down": FENCING | dict(fence=lambda n: 2**32 - n),
    "7 counts by itself": FENCING | dict(fence=lambda n, c=itertools.count(1): next(c)),
    "8 one server": DIAMOND,
    "8 all of five": REDLOCK | dict(quorum=5),
    "8 two of five": REDLOCK | dict(quorum=2),
    "8 counts no time": REDLOCK | dict(late=True, in_turn=True),
}
mode = MODES[sys.argv[1]]
numbers, memory, process = itertools.count(), {}, uuid.uuid4().hex


def offers():
    said = {}
    if mode["renew"]:
        said["features"] = ["renewal", "lost"]
    if mode["take"] == "fenced":
        said["features"].append("fencing")
        said["keeps"] = ["{{key}}:token"]
    if mode["take"] == "majority":
        said["servers"] = 5
    return said


class Lock(starter.Lock):
    hello = offers()

    def __init__(self, *args):
        super().__init__(*args)
        self.key = mode.get("key", self.key)
        self.ms = int(mode.get("seconds", self.lease) * 1000) * mode.get("factor", 1)
        self.node_timeout = 0.3 * self.lease if mode.get("in_turn") else self.node_timeout
        self.number, self.value = next(numbers), None
        self.handle, self.held = uuid.uuid4().hex, None

    def token(self):
        kinds = {None: "x", "grant": uuid.uuid4().hex, "number": self.number, "process": process}
        return kinds.get(mode["token"], self.handle)

    def try_lock(self):
        token, sent = self.token(), time.monotonic()
        granted = self.take(token)
        if granted and not mode.get("late") and self.late(sent):
            self.free(token)
            return False
        if not granted and mode["take"] == "majority":
            self.free(token)  # what some servers granted
        if granted:
            self.value = token
            self.watch(sent)
        return granted

    def late(self, sent):
        drift = self.lease / 100 + 0.002 if mode["take"] == "majority" else 0
        counts = mode["renew"] or mode["take"] == "majority"
        return counts and time.monotonic() - sent + drift >= self.lease

    def take(self, token):
        redis, key, how = self.redis[0], self.key, mode["take"]
        if how == "nothing":
            return True
        if how == "memory":
            return memory.setdefault(key, self) is self
        if how == "set nx px":
            return redis("SET", key, token, "NX", "PX", self.ms) == "OK"
        if how == "set px":
            return redis("SET", key, token, "PX", self.ms) == "OK"
        if how == "fenced":
            n = redis("EVAL", FENCED, 2, key, "{%s}:token" % key, token, self.ms)
            return n and mode.get("fence", lambda n: n)(n)
        if how == "majority":
            set_it = lambda r: r("SET", key, token, "NX", "PX", self.ms, timeout=self.node_timeout) == "OK"
            return self.all(set_it) >= mode["quorum"]
        if mode["lease"] == "before":
            redis("PEXPIRE", key, self.ms)
        granted = redis("SETNX", key, token) == 1
        if granted and mode["lease"] == "after":
            redis("PEXPIRE", key, self.ms)
        return granted

    def all(self, command):
        yes = []

        def one(redis):
            try:
                yes.append(bool(command(redis)))
            except OSError:
                pass

        if mode.get("in_turn"):
            [one(r) for r in self.redis]
            return sum(yes)
        threads = [threading.Thread(target=one, args=(r,)) for r in self.redis]
        [t.start() for t in threads]
        [t.join() for t in threads]
        return sum(yes)

    def unlock(self):
        if self.held:
            self.held.set()
        return self.free(self.value)

    def free(self, token):
        redis, key, how = self.redis[0], self.key, mode["free"]
        if how == "nothing":
            return True
        if mode["take"] == "memory":
            return memory.pop(key, None) is not None
        if mode["take"] == "majority":
            script = lambda r: r("EVAL", RELEASE, 1, key, token, timeout=self.node_timeout)
            return self.all(script) >= mode["quorum"]
        if how == "script":
            return redis("EVAL", RELEASE, 1, key, token, timeout=self.lease) == 1
        if how == "blind script":
            return redis("EVAL", "return redis.call('DEL', KEYS[1])", 1, key) == 1
        if how == "script, del":
            mine = redis("EVAL", "return redis.call('GET', KEYS[1]) == ARGV[1]", 1, key, token)
        elif how == "get":
            mine = redis("GET", key) == str(token)
        else:
            mine = redis("GET", key) or True
        return bool(mine) and redis("DEL", key) == 1

    def watch(self, sent):
        if mode["renew"]:
            self.held = threading.Event()
            args = self.held, self.value, sent, self.lost
            threading.Thread(target=self.renew, args=args, daemon=True).start()

    def renew(self, done, token, sent, lost):
        third, end, wait = self.lease / 3, sent + self.lease, self.lease / 3
        while not done.wait(min(wait * mode.get("every", 1), max(end - time.monotonic(), 0))):
            began = time.monotonic()
            if began >= end:
                break
            try:
                left = min(third, end - began)
                if self.redis[0]("EVAL", RENEW, 1, self.key, token, self.ms, timeout=left) == 0:
                    break
                end, wait = began + self.lease, third
            except OSError:
                wait = third / 4
        if not done.is_set() and mode["tells"]:
            lost()


starter.serve(Lock)
