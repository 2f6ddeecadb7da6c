#!/bin/sh
# LiteLLM's proxy: a wrong key is answered with 400, and with a word about a database.
#
# Expected: 401, as OpenAI's API and RFC 9110 (15.5.2) answer credentials that are not valid.
# What happens: a proxy with a master key and without a database answers a request that has another
# key with 400 and "No connected db.": a client that tells "fix the request" from "fix the key" by the
# status says the wrong thing.
# Seen with litellm[proxy] 1.108.7 on 29 November 2026.
# Source: https://github.com/BerriAI/litellm (litellm/proxy/auth/user_api_key_auth.py).
set -eu
work=$(mktemp -d)
server=
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install 'litellm[proxy]==1.108.7'
cat >"$work/config.yaml" <<'YAML'
model_list:
  - model_name: small
    litellm_params: {model: openai/small, api_base: "http://127.0.0.1:9/v1", api_key: unused}
general_settings:
  master_key: sk-master
YAML
PATH="$work/venv/bin:$PATH" "$work/venv/bin/litellm" --config "$work/config.yaml" --host 127.0.0.1 \
    --port 18766 >"$work/log" 2>&1 &
server=$!
tries=0
until curl -sf http://127.0.0.1:18766/health/liveliness >/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 240 ] || { tail -n 20 "$work/log"; exit 1; }
    sleep 0.5
done
status=$(curl -s -o "$work/out" -w '%{http_code}' http://127.0.0.1:18766/v1/chat/completions \
    -H 'authorization: Bearer sk-another' -H 'content-type: application/json' \
    -d '{"model":"small","messages":[{"role":"user","content":"hi"}]}')
echo "status $status"
cat "$work/out"
echo
[ "$status" = 400 ] || { echo "changed: the status is $status"; exit 1; }
grep -q 'No connected db' "$work/out" || { echo "changed: another message"; exit 1; }
echo "as described: 400, No connected db."
