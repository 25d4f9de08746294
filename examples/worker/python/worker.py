#!/usr/bin/env python3
"""Has Claude work in a sandbox on a repository, by the worker protocol (docs/worker.md).

usage: worker.py REPOSITORY PROMPT

Needs Python 3.9 and sbx-devc on the PATH, and no package.
"""
import json
import subprocess
import sys


class WorkerError(Exception):
    """A request failed; code is one of docs/worker.md."""

    def __init__(self, message):
        super().__init__(message["error"] + ": " + message.get("message", ""))
        self.code = message["error"]


class Worker:
    """One sbx-devc that is read and written line by line. Leaving it ends all that it started."""

    def __init__(self, repository, *flags):
        self.process = subprocess.Popen(["sbx-devc", "exec", "--json-lines", *flags, repository], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def request(self, op, **members):
        """Sends a request, and yields its messages to the last one. One at a time, in this small client."""
        self.count += 1
        name = str(self.count)
        self.process.stdin.write(json.dumps({"id": name, "op": op, **members}) + "\n")
        failed = None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") != name:
                if message["type"] in ("ended", "left"):
                    print(message.get("message"), file=sys.stderr)
                continue
            if message["type"] == "error":
                failed = WorkerError(message)
            else:
                yield message
            if message.get("last"):
                if failed:
                    raise failed
                return
        raise EOFError("the worker has ended")

    def last(self, op, **members):
        """Sends a request, and returns its last message."""
        for message in self.request(op, **members):
            pass
        return message


def main(repository, prompt):
    with Worker(repository, "--workspace", "clone") as worker:
        worker.last("ensure")
        for message in worker.request("prompt", prompt=prompt, workflow="task", timeout="30m"):
            if message["type"] == "result":
                print("%s: %s" % (message["conclusion"], message.get("text", "")))
            elif message["type"] == "usage":
                print("%d requests, $%.4f" % (message["requests"], message["usd"]))
        for message in worker.request("exec", command=["git", "status", "--short"], workflow="task"):
            if message["type"] == "stdout":
                print(message.get("text", ""), end="")
        done = worker.last("finish", workflow="task")
        print("%s is at %s" % (done["branch"], done["head"]))
        worker.last("stop")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
