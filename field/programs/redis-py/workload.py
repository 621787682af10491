"""Sells a stock behind redis-py's Lock, for the benchmark: see docs/any-language.md."""

import json
import sys
import threading
import time

import redis


def connect(node):
    host, _, port = node["address"].rpartition(":")
    return redis.Redis(
        host=host, port=int(port), username=node.get("user"), password=node.get("password")
    )


def sell(request, node):
    gate = threading.Barrier(request["owners"] + 1)
    sections, failures = [], []
    taken = lost = 0
    began = None

    def now():
        return int((time.monotonic() - began) * 1e6)

    def owner():
        nonlocal taken, lost
        client = connect(node)  # a connection of its own
        lock = client.lock(
            request["key"], timeout=request["lease_ms"] / 1000, sleep=request["poll_ms"] / 1000
        )
        client.ping()
        gate.wait()
        gate.wait()
        for _ in range(request["turns"]):
            asked = now()
            try:
                with lock:
                    entered = now()
                    left = int(client.get(request["stock"]))
                    if left > 0:
                        after = client.decr(request["stock"])
                        taken += 1
                        lost += after != left - 1
                    sections.append([asked, entered, now()])
            except Exception as e:
                failures.append(repr(e))

    threads = [threading.Thread(target=owner) for _ in range(request["owners"])]
    for thread in threads:
        thread.start()
    gate.wait()  # all are connected
    began = time.monotonic()
    gate.wait()
    for thread in threads:
        thread.join()
    return {
        "sections": sections,
        "taken": taken,
        "lost_updates": lost,
        "failures": len(failures),
        "text": failures[0] if failures else "",
    }


for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        node = request["nodes"][0]
        says = {"type": "hello", "protocol": 1, "library": "redis-py " + redis.__version__}
    else:
        says = {"type": "sold", **sell(request, node)}
    print(json.dumps({"id": request["id"], **says}), flush=True)
