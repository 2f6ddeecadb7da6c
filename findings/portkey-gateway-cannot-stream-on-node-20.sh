#!/bin/sh
# Portkey's gateway: without a stream it passes an answer on, with one it answers 500.
#
# Expected: the same request with "stream": true is passed on as server-sent events.
# What happens: on Node 20 (its package asks for none in particular) each streamed request ends with
# 500 "Something went wrong", while the upstream server has answered well.
# Seen with @portkey-ai/gateway 1.15.2 and Node 20.20.2 on 29 November 2026.
# Source: https://github.com/Portkey-AI/gateway (src/handlers/streamHandler.ts).
set -eu
work=$(mktemp -d)
gateway= upstream=
trap 'kill $gateway $upstream 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm i --silent --no-fund --no-audit @portkey-ai/gateway@1.15.2
cat >upstream.py <<'PY'
import http.server, json

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        streams = asked.get("stream", False)
        choice = {"index": 0, "finish_reason": "stop"}
        word = {"role": "assistant", "content": "hello"}
        whole = {"id": "1", "object": "chat.completion", "model": "x", "choices": [{**choice, "message": word}]}
        chunk = {"id": "1", "object": "chat.completion.chunk", "model": "x", "choices": [{**choice, "delta": word}]}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n" if streams else json.dumps(whole)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", 18767), Server).serve_forever()
PY
python3 upstream.py &
upstream=$!
node node_modules/@portkey-ai/gateway/build/start-server.js --port=18768 --headless >log 2>&1 &
gateway=$!
tries=0
until curl -sf http://127.0.0.1:18768/ >/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || { cat log; exit 1; }
    sleep 0.5
done
ask() {
    curl -s -o out -w '%{http_code}' http://127.0.0.1:18768/v1/chat/completions \
        -H 'x-portkey-provider: openai' -H 'x-portkey-custom-host: http://127.0.0.1:18767/v1' \
        -H 'authorization: Bearer x' -H 'content-type: application/json' \
        -d "{\"model\":\"x\",\"stream\":$1,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
}
whole=$(ask false)
echo "without a stream: $whole $(cat out)"
streamed=$(ask true)
echo "with a stream: $streamed $(cat out)"
[ "$whole" = 200 ] || { echo "the answer without a stream did not come"; exit 1; }
[ "$streamed" = 500 ] || { echo "changed: the status is $streamed"; exit 1; }
echo "as described"
