"""pottery's Redlock behind the protocol of docs/any-language.md, on five servers."""

import json
import os
import sys
import threading
from importlib.metadata import version

import pottery
import redis

writing = threading.Lock()
nodes = []
masters = set()
owners = {}


def answer(request, kind, **more):
    with writing:
        print(json.dumps({"id": request["id"], "type": kind, **more}), flush=True)


def connect(node, timeout):
    host, _, port = node["address"].rpartition(":")
    return redis.Redis(
        host=host,
        port=int(port),
        username=node.get("user"),
        password=node.get("password"),
        socket_timeout=timeout,
    )


def build(request):
    timeout = request["node_timeout_ms"] / 1000
    masters.update(connect(node, timeout) for node in nodes[len(masters):])
    # The library has no renewal: extend() is the caller's.
    owners[request["owner"]] = pottery.Redlock(
        key=request["key"],
        masters=masters,
        auto_release_time=request["lease_ms"] / 1000,
        raise_on_redis_errors=True,  # or a server that is down reads as "refused"
    )
    answer(request, "ok")


def acquire(request, blocking):
    lock = owners[request["owner"]]
    deadline = request.get("deadline_ms")
    seconds = deadline / 1000 if deadline and blocking else -1
    if lock.acquire(blocking=blocking, timeout=seconds):
        answer(request, "granted")
    elif blocking:
        answer(request, "error", error="deadline", text="not acquired in time")
    else:
        answer(request, "refused")


def serve(request):
    try:
        if request["type"] == "try":
            acquire(request, blocking=False)
        elif request["type"] == "lock":
            acquire(request, blocking=True)
        elif request["type"] == "unlock":
            owners[request["owner"]].release()
            answer(request, "ok")
    except pottery.ReleaseUnlockedLock as e:
        answer(request, "error", error="not_held", text=str(e))
    except Exception as e:  # of the network: nobody knows what the servers have done
        answer(request, "error", error="unknown", text=repr(e))


for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        nodes = request["nodes"]
        answer(
            request,
            "hello",
            protocol=1,
            library="pottery " + version("pottery"),
            servers=5,
            keys=["redlock:{key}"],
        )
    elif request["type"] == "build":
        build(request)
    elif request["type"] != "cancel":  # the library can't cancel
        threading.Thread(target=serve, args=(request,), daemon=True).start()
os._exit(0)  # its threads would be waited for
