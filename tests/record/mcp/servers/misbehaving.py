"""A server that counts, and that misbehaves in the way its argument names when its tool `go` is called."""

import json
import os
import sys
import time

SELF = {"$ref": "#/$defs/node"}
NODE = {"type": "object", "properties": {"name": {"type": "string"}, "child": SELF}, "required": ["name", "child"]}
TOOLS = [
    {"name": "count", "description": "Count on", "inputSchema": {"type": "object"}},
    {"name": "go", "inputSchema": {"type": "object", "properties": {}}},
    {
        "name": "tree",
        "inputSchema": {"type": "object", "properties": {"root": SELF}, "$defs": {"node": NODE}, "required": ["root"]},
    },
    {
        "name": "recursive",
        "inputSchema": {"type": "object", "properties": {"self": {"$ref": "#"}}, "required": ["self"]},
    },
    {
        "name": "lost",
        "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}, "required": ["x"]},
    },
    {"name": "no schema"},
    {"name": "odd schema", "inputSchema": ["not", "a", "schema"]},
    {
        "name": "naïve-tool/with:odd.name\u2028",
        "inputSchema": {"type": "object", "properties": {"a b": {"type": ["integer", "null"]}}},
    },
    {"name": 7, "inputSchema": {}},
    "not a tool",
]


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def misbehave(mode, number):
    if mode == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    elif mode == "hang":
        time.sleep(3600)
    elif mode == "flood":
        while True:
            say({"method": "notifications/message", "params": {"data": "x" * 100}})
    elif mode == "endless":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif mode == "huge":
        say({"id": number, "result": text("x" * 50_000_000)})
    elif mode == "noise":
        print("Listening on nothing\n{\n[1, 2\n\x00\nnull\n17", flush=True)
        say({"id": number, "result": text("after the noise")})
    elif mode == "garbage":
        print("}{ this is no JSON", flush=True)
    elif mode == "neither":
        say({"id": number})
    elif mode == "list-result":
        say({"id": number, "result": ["a"]})
    elif mode == "bad-content":
        say({"id": number, "result": {"content": "text"}})
    elif mode == "bad-error":
        say({"id": number, "error": "no"})
    elif mode == "protocol-error":
        say({"id": number, "error": {"code": -32602, "message": "Bad arguments", "data": {"field": "x"}}})
    elif mode == "other-id":
        say({"id": number + 1000, "result": text("not yours")})
        say({"id": number, "result": text("yours")})
    elif mode == "nan":
        print(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [], "x": NaN}}}}', flush=True)
    elif mode == "surrogate":
        print(
            f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"a\\ud800b"}}]}}}}',
            flush=True,
        )
    elif mode == "deep":
        print(f'{{"id": {number}, "result": ' + "[" * 200_000 + "]" * 200_000 + "}", flush=True)
    elif mode == "asks":
        say({"id": "mine", "method": "sampling/createMessage", "params": {}})
        answer = json.loads(sys.stdin.readline())
        say({"id": number, "result": text(json.dumps(answer.get("error")))})
    elif mode == "blocks":
        image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
        resource = {"type": "resource", "resource": {"uri": "note://1", "text": "a note"}}
        link = {"type": "resource_link", "uri": "note://2", "name": "two"}
        content = [{"type": "text", "text": "first"}, image, resource, link, {"type": "hologram"}]
        say({"id": number, "result": {"content": content, "structuredContent": {"n": 1}, "isError": True}})
    else:
        say({"id": number, "result": text("fine")})


def main():
    mode, count = sys.argv[1], 0
    if mode == "mute":
        time.sleep(3600)
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message["method"]
        if number is None:
            continue
        if method == "initialize":
            if mode == "dies-early":
                sys.exit("no configuration")
            if mode == "refuses":
                say({"id": number, "error": {"code": -32000, "message": "Unsupported protocol version"}})
                continue
            info = {"name": "misbehaving", "version": "0"}
            say({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}})
        elif method == "tools/list":
            if mode == "pages-forever":
                say({"id": number, "result": {"tools": TOOLS[:1], "nextCursor": "more"}})
            elif mode == "no-tools":
                say({"id": number, "result": {"tools": "none"}})
            else:
                say({"id": number, "result": {"tools": TOOLS}})
        elif message["params"]["name"] == "go":
            misbehave(mode, number)
        else:
            count += 1
            say({"id": number, "result": text(str(count))})


main()
