"""redis-py's Lock behind the protocol of docs/any-language.md."""

import json
import sys
import threading

import redis
from redis.exceptions import LockError, LockNotOwnedError

writing = threading.Lock()
client = None
owners = {}


def answer(request, kind, **more):
    with writing:
        print(json.dumps({"id": request["id"], "type": kind, **more}), flush=True)


def build(request):
    # The library has no renewal: a lock lasts for its timeout.
    owners[request["owner"]] = client.lock(
        request["key"],
        timeout=request["lease_ms"] / 1000,
        sleep=request.get("poll_ms", 100) / 1000,
        thread_local=False,  # a thread a request, see below
    )
    answer(request, "ok")


def acquire(request, blocking):
    lock = owners[request["owner"]]
    deadline = request.get("deadline_ms")
    seconds = deadline / 1000 if deadline and blocking else None
    if lock.acquire(blocking=blocking, blocking_timeout=seconds):
        answer(request, "granted")
    elif blocking:
        answer(request, "error", error="deadline", text="not acquired in time")
    else:
        answer(request, "refused")


def release(request):
    owners[request["owner"]].release()
    answer(request, "ok")


def serve(request):
    try:
        if request["type"] == "build":
            build(request)
        elif request["type"] == "try":
            acquire(request, blocking=False)
        elif request["type"] == "lock":
            acquire(request, blocking=True)
        elif request["type"] == "unlock":
            release(request)
    except (LockNotOwnedError, LockError) as e:
        answer(request, "error", error="not_held", text=str(e))
    except Exception as e:  # of the network: nobody knows what the server has done
        answer(request, "error", error="unknown", text=repr(e))


for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        host, _, port = request["nodes"][0]["address"].rpartition(":")
        client = redis.Redis(
            host=host,
            port=int(port),
            username=request["nodes"][0].get("user"),
            password=request["nodes"][0].get("password"),
            socket_timeout=5,
        )
        answer(request, "hello", protocol=1, library="redis-py " + redis.__version__)
    elif request["type"] != "cancel":  # the library can't cancel
        threading.Thread(target=serve, args=(request,), daemon=True).start()
