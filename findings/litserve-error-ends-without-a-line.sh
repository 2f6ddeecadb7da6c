#!/bin/sh
# LitServe: an error in the middle of a stream is not a whole event.
#
# Expected: server-sent events end with an empty line (WHATWG HTML, 9.2.6), also the one that tells of
# an error, or the stream is cut off so that a client knows that it is not whole.
# What happens: when a model raises after its first token, the last thing in the stream is a line
# `data: {"error": …}` that no line end follows. A client that reads events by the standard drops it
# and takes the answer for complete.
# Seen with litserve 0.2.19 and its own OpenAISpec, Python 3.11, on 29 November 2026.
# Source: https://github.com/Lightning-AI/LitServe (src/litserve, streaming responses).
set -eu
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
server=
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install litserve==0.2.19
cat >"$work/serve.py" <<'PY'
import litserve as ls

class Model(ls.LitAPI):
    def setup(self, device):
        pass

    def predict(self, messages):
        yield "one"
        raise RuntimeError("out of memory")

if __name__ == "__main__":
    ls.LitServer(Model(spec=ls.OpenAISpec())).run(port=18765, host="127.0.0.1", generate_client_file=False)
PY
(cd "$work" && exec "$work/venv/bin/python" serve.py >"$work/log" 2>&1) &
server=$!
tries=0
until curl -sf http://127.0.0.1:18765/health >/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || { cat "$work/log"; exit 1; }
    sleep 0.5
done
curl -sN http://127.0.0.1:18765/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"x","stream":true,"messages":[{"role":"user","content":"hi"}]}' >"$work/out" || true
echo "--- the stream:"
cat "$work/out"
echo
echo "---"
grep -q '"content":"one"' "$work/out" || { echo "the first token did not come"; exit 1; }
last=$(tail -n 1 "$work/out")
case $last in
*error*) ;;
*) echo "changed: the last line is not the error: $last"; exit 1 ;;
esac
[ "$(tail -c 1 "$work/out" | od -An -tx1 | tr -d ' ')" != 0a ] ||
    { echo "changed: the error is followed by a line end"; exit 1; }
echo "as described: the error is the last line, without a line end"
