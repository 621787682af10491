"""A lock of your own: change the class Lock, and nothing below it.

The check speaks with it through standard input and output, see docs/any-language.md.
Your own messages go to standard error: print("...", file=sys.stderr).
"""

import json
import os
import random
import socket
import sys
import threading
import time


class Lock:
    """One owner of the lock with the name `key`, for `lease` seconds.

    redis[0]("SET", key, "x") sends a command to the first server and returns its answer:
    None, a number, a str, or a list. It raises OSError if there is none within the
    seconds of timeout=, and ValueError if Redis answers with an error.
    """

    hello = {}  # what the lock offers: the later challenges say what to put here

    def __init__(self, redis, key, lease, node_timeout):
        self.redis, self.key, self.lease = redis, key, lease
        self.node_timeout = node_timeout  # how long one server of several may take

    def try_lock(self):
        """Make one attempt. Return True if granted, or the fencing token."""
        return True

    def unlock(self):
        """Release the lock. Return False if it was not this owner's."""
        return True

    def lost(self):
        """Call this when the lease is gone before unlock. `serve` puts its own in place."""


class Redis:
    """A server, with as many connections as are in use at the same time."""

    def __init__(self, node):
        host, _, port = node["address"].rpartition(":")
        self.at = host, int(port)
        self.login = [node[name] for name in ("user", "password") if name in node]
        self.idle = []

    def __call__(self, *words, timeout=100):
        try:
            lines = self.idle.pop()
        except IndexError:
            lines = self.connect(timeout)
        try:
            answer = ask(lines, words, timeout)
        except OSError:
            self.idle.clear()  # the others broke, too
            raise
        self.idle.append(lines)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    def connect(self, timeout):
        connection = socket.create_connection(self.at, timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = connection, connection.makefile("rb")
        if self.login:
            ask(lines, ["AUTH", *self.login], timeout)
        return lines


def ask(lines, words, timeout):
    connection, file = lines
    connection.settimeout(max(timeout, 0.001))
    parts = [str(word).encode() for word in words]
    text = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    connection.sendall(b"*%d\r\n%s" % (len(parts), text))
    return read(file)


def read(file):
    line = file.readline().decode()
    if not line.endswith("\r\n"):
        raise ConnectionError("the server closed the connection")
    kind, rest = line[0], line[1:-2]
    if kind == "-":
        return ValueError(rest)
    if kind == "+":
        return rest
    n = int(rest)
    if kind == ":":
        return n
    if n < 0:
        return None
    if kind == "*":
        return [read(file) for _ in range(n)]
    return file.read(n + 2)[:-2].decode()


def serve(make):
    """Answer the check's requests with the owners that make makes."""
    writing, owners, servers = threading.Lock(), {}, []

    def answer(request, kind, **more):
        with writing:
            print(json.dumps({"id": request.get("id"), "type": kind, **more}), flush=True)

    def grant(request, granted):
        token = {} if isinstance(granted, bool) else {"token": granted}
        answer(request, "granted", **token)

    def wait(request):
        owner, end = owners[request["owner"]], request.get("deadline_ms")
        end = time.monotonic() + end / 1000 if end else None
        owner.lost = lambda: answer({}, "lost", of=request["id"])
        while not (granted := owner.try_lock()):
            if request["type"] == "try":
                return answer(request, "refused")
            pause = request["pause"] * random.uniform(0.5, 1)
            if end and time.monotonic() + pause >= end:
                return answer(request, "error", error="deadline", text="not granted in time")
            time.sleep(pause)
        grant(request, granted)

    def one(request):
        try:
            if request["type"] == "unlock":
                if owners[request["owner"]].unlock():
                    answer(request, "ok")
                else:
                    answer(request, "error", error="not_held", text="not this owner's")
            else:
                wait(request)
        except (OSError, ValueError) as e:
            answer(request, "error", error="unknown", text=repr(e))

    pause = 0.1
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "hello":
            servers = [Redis(node) for node in request["nodes"]]
            answer(request, "hello", protocol=1, **make.hello)
        elif request["type"] == "build":
            lease, pause = request["lease_ms"] / 1000, request.get("poll_ms", 100) / 1000
            owners[request["owner"]] = make(
                servers, request["key"], lease, request.get("node_timeout_ms", lease * 50) / 1000
            )
            answer(request, "ok")
        elif request["type"] != "cancel":
            request["pause"] = pause
            threading.Thread(target=one, args=(request,), daemon=True).start()
    os._exit(0)  # and release nothing


if __name__ == "__main__":
    serve(Lock)
