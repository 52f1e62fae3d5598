#!/usr/bin/env bash
# openapi-generator 7.26.0, rust: the type of the body of an error.
#
# An operation has an enum with a variant for each status. One expects the status of the response to choose the variant. The
# enum is untagged, and only the body is parsed: the first variant that fits wins. A 422 whose body has all fields of a 400, and
# `messages`, becomes `Status400`, and the messages are lost. So a client must parse `content` itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openapi-generator-cli==7.26.0
cat >openapi.json <<'END'
{"openapi": "3.1.0", "info": {"title": "t", "version": "1"},
 "paths": {"/roles": {"post": {"operationId": "create_role", "responses": {
   "204": {"description": "created"},
   "400": {"description": "bad", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
   "422": {"description": "bad", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Invalid"}}}}}}}},
 "components": {"schemas": {
   "Problem": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}},
   "Invalid": {"type": "object", "required": ["code", "messages"], "properties": {"code": {"type": "string"},
     "messages": {"type": "array", "items": {"type": "string"}}}}}}}
END
venv/bin/openapi-generator-cli generate -g rust -i openapi.json -o client >log 2>&1 || { cat log; exit 1; }
# The generated enum and models, without the HTTP client.
mkdir -p errors/src
cat >errors/Cargo.toml <<'END'
[package]
name = "errors"
edition = "2021"
[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = "1"
END
cp -r client/src/models errors/src/models
{
  echo 'mod models;'
  echo 'use serde::{Deserialize, Serialize};'
  sed -n '/^#\[derive/,/^}/p' client/src/apis/default_api.rs
  cat <<'END'
fn main() {
    let body = r#"{"code": "validation_failed", "messages": ["title can't be blank"]}"#;
    println!("{:?}", serde_json::from_str::<CreateRoleError>(body).unwrap());
}
END
} >errors/src/main.rs
grep -A 3 'let entity' client/src/apis/default_api.rs
found=$(env -u RUSTC_WORKSPACE_WRAPPER cargo run --quiet --manifest-path errors/Cargo.toml 2>log) || { cat log; exit 1; }
echo "$found"
if [[ $found != Status400* ]]; then
  echo "the generator chooses the type by something else now" >&2
  exit 1
fi
