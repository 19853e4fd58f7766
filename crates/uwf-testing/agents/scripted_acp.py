#!/usr/bin/env python3
"""An agent that speaks the Agent Client Protocol and does what `acp.json` in its directory says.

{
  "initialize": {…}, "new": {…}       merged into the replies to `initialize` and `session/new`
  "load": {…}, "replay": [ACTION, …]  the reply to `session/load`, and what it tells of the session before
  "refuse": {"session/new": {…}}      errors instead of replies
  "ignoreEof": true                   it goes on when its stdin is closed
  "ignoreTerm": true                  and when it is told to go
  "prompts": [[ACTION, …], …]         what it does at each prompt, in order
}

Actions: {"text": …}, {"thought": …}, {"update": {…}}, {"print": a line that is no message}, {"stderr": …},
{"permission": {title, kind, input, options}}, {"request": {method, params}}, {"mcp": {tool, arguments}} (a call of the
server it was given, told as a tool call), {"touch": file}, {"sleep": s}, {"hang": true}, {"exit": code},
{"end": stopReason, "usage": {…}}. A prompt without an `end` ends with `end_turn`.

Everything it hears is in `heard.jsonl`.
"""
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

script = json.load(open("acp.json"))
if script.get("ignoreTerm"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("pids", "a") as pids:
    pids.write(f"{os.getpid()}\n")

inbox = queue.Queue()
asked_before = itertools.count()
cancelled = threading.Event()
heard = open("heard.jsonl", "a")


def listen():
    for line in sys.stdin:
        heard.write(line)
        heard.flush()
        message = json.loads(line)
        if message.get("method") == "session/cancel":
            cancelled.set()
        else:
            inbox.put(message)
    inbox.put(None)


threading.Thread(target=listen, daemon=True).start()


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


# The session that is open.
session = "s-1"


def update(kind, /, **fields):
    send({"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}})


requests = 0


def request(method, params):
    """Asks the client something and returns its reply."""
    global requests
    requests += 1
    send({"id": f"agent-{requests}", "method": method, "params": params})
    while True:
        message = inbox.get()
        if message is None:
            sys.exit(1)
        if message.get("id") == f"agent-{requests}":
            return message


class Server:
    """The MCP server it was given, started with nothing but what it was told."""

    def __init__(self, told):
        env = {variable["name"]: variable["value"] for variable in told["env"]}
        command = [told["command"], *told["args"]]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})

    def request(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]


servers = []
calls = 0


def call_tool(tool, arguments):
    global calls
    calls += 1
    call = f"call-{calls}"
    title = f"mcp__uwf__{tool}"
    update("tool_call", toolCallId=call, title=title, kind="other", status="in_progress", rawInput=arguments)
    result = servers[0].request("tools/call", {"name": tool, "arguments": arguments})
    status = "failed" if result["isError"] else "completed"
    text = result["content"][0]["text"]
    update("tool_call_update", toolCallId=call, status=status, rawOutput=text)


def permission(asked):
    kinds = asked.get("options", ["allow_always", "allow_once", "reject_once"])
    options = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in kinds]
    call = {"toolCallId": f"asked-{next(asked_before)}", "title": asked["title"], "kind": asked.get("kind"), "rawInput": asked.get("input")}
    reply = request("session/request_permission", {"sessionId": session, "toolCall": call, "options": options})
    outcome = reply["result"]["outcome"]
    update("agent_message_chunk", content={"type": "text", "text": f"[{outcome.get('optionId', 'cancelled')}] "})


def act(action):
    """Does one thing of the script; returns the end of the turn when that was it."""
    if "text" in action:
        extra = {"messageId": action["message"]} if "message" in action else {}
        update("agent_message_chunk", content={"type": "text", "text": action["text"]}, **extra)
    elif "elsewhere" in action:
        told = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": action["elsewhere"]}}
        send({"method": "session/update", "params": {"sessionId": "of-a-helper", "update": told}})
    elif "thought" in action:
        update("agent_thought_chunk", content={"type": "text", "text": action["thought"]})
    elif "update" in action:
        fields = dict(action["update"])
        update(fields.pop("sessionUpdate"), **fields)
    elif "print" in action:
        print(action["print"], flush=True)
    elif "stderr" in action:
        print(action["stderr"], file=sys.stderr, flush=True)
    elif "permission" in action:
        permission(action["permission"])
    elif "request" in action:
        request(action["request"]["method"], action["request"].get("params", {}))
    elif "mcp" in action:
        call_tool(action["mcp"]["tool"], action["mcp"]["arguments"])
    elif "touch" in action:
        open(action["touch"], "w").close()
    elif "sleep" in action:
        time.sleep(action["sleep"])
    elif "hang" in action:
        cancelled.wait()
        update("agent_message_chunk", content={"type": "text", "text": " (cancelled)"})
        return {"stopReason": "cancelled"}
    elif "exit" in action:
        os._exit(action["exit"])
    elif "end" in action:
        usage = {"usage": action["usage"]} if "usage" in action else {}
        return {"stopReason": action["end"], **usage}
    return None


prompts = iter(script.get("prompts", []))


def answer(message):
    global session
    method, params = message.get("method"), message.get("params")
    if method in script.get("refuse", {}):
        return {"error": script["refuse"][method]}
    if method == "initialize":
        capabilities = {"loadSession": False, "promptCapabilities": {}}
        return {"result": {"protocolVersion": 1, "agentCapabilities": capabilities, **script.get("initialize", {})}}
    if method == "session/new":
        assert os.path.isabs(params["cwd"])
        servers.extend(Server(told) for told in params["mcpServers"])
        new = {"sessionId": "s-1", **script.get("new", {})}
        session = new["sessionId"]
        return {"result": new}
    if method == "session/load":
        servers.extend(Server(told) for told in params["mcpServers"])
        session = params["sessionId"]
        for action in script.get("replay", []):
            act(action)
        return {"result": script.get("load", {})}
    if method == "session/prompt":
        for action in next(prompts, []):
            end = act(action)
            if end is not None:
                return {"result": end}
        return {"result": {"stopReason": "end_turn"}}
    return {"result": {}}


while True:
    message = inbox.get()
    if message is None:
        break
    if "id" in message:
        send({"id": message["id"], **answer(message)})
while script.get("ignoreEof"):
    time.sleep(1)
