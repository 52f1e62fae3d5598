#!/usr/bin/env bash
# @vapi-ai/server-sdk 2.0.1, Vapi's TypeScript client: the type of `server.backoffPlan.type`.
#
# The comment on the field says that the default is `fixed`, and Vapi's documentation names `exponential`, too. One expects the
# type to be a union of these words. It is `Record<string, unknown>`, so TypeScript refuses both words and accepts any
# object. So `.ci/providers/types.ts` has a type of its own for the field.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --silent @vapi-ai/server-sdk@2.0.1 typescript@5.9.3
cat >plan.ts <<'END'
import type { Vapi } from "@vapi-ai/server-sdk";
export const documented: Vapi.BackoffPlan = { type: "exponential", maxRetries: 5, baseDelaySeconds: 1 };
export const accepted: Vapi.BackoffPlan = { type: { any: "thing" }, maxRetries: 5, baseDelaySeconds: 1 };
END
errors=$(node_modules/.bin/tsc --noEmit --strict --skipLibCheck --module nodenext --target es2022 plan.ts || true)
echo "$errors"
if [[ $errors != "plan.ts(2,"*"Type 'string' is not assignable to type 'Record<string, unknown>'."* || $errors == *"plan.ts(3,"* ]]; then
  echo "Vapi's client has another type now" >&2
  exit 1
fi
