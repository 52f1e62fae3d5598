#!/usr/bin/env bash
# openapi-generator 7.26.0, typescript-fetch: which credential a request gets if a document allows one of two.
#
# One expects the first alternative that is configured, with `Bearer ` before the token. The generator writes every alternative
# into the same header, sorted by the schemes' names, and the last one wins. An `oauth2` scheme is written without `Bearer `. So
# an API key gets a 401 if its scheme is called `api_key`, which is before `oauth`, and works if it is called `token`. So the
# scheme in our document is called `token`. The order in the document changes nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openapi-generator-cli==7.26.0
for name in api_key token; do
  cat >"$name.json" <<END
{"openapi": "3.1.0", "info": {"title": "t", "version": "1"},
 "paths": {"/roles": {"get": {"operationId": "list_roles", "security": [{"$name": []}, {"oauth": ["roles:read"]}],
   "responses": {"204": {"description": "none"}}}}},
 "components": {"securitySchemes": {
   "$name": {"type": "http", "scheme": "bearer"},
   "oauth": {"type": "oauth2", "flows": {"authorizationCode": {
     "authorizationUrl": "/authorize", "tokenUrl": "/token", "scopes": {"roles:read": "See roles"}}}}}}}
END
  venv/bin/openapi-generator-cli generate -g typescript-fetch -i "$name.json" -o "$name" >log 2>&1 || { cat log; exit 1; }
done
# The last line that writes the header.
last() {
  grep 'headerParameters\["Authorization"\] =' "$1/apis/DefaultApi.ts" | tail -n 1
}
last api_key
last token
# shellcheck disable=SC2016 # The placeholder is TypeScript's.
if [[ $(last api_key) != *'= await this.configuration.accessToken("oauth"'* || $(last token) != *'= `Bearer ${tokenString}`;' ]]; then
  echo "the generator chooses another credential now" >&2
  exit 1
fi
