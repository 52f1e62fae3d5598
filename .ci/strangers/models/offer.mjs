// Offers the tools of a server to models with Vercel's AI SDK.
//
// Prints a line for each provider: its name, its version, and the error that has ended it.
//
// Usage: node offer.mjs MCP_URL KEY MODEL_URL

import { readFileSync } from 'node:fs';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText } from 'ai';

const [url, key, model] = process.argv.slice(2);
const PROVIDERS = {
  '@ai-sdk/anthropic': (settings) => createAnthropic(settings)('claude-opus-5'),
  '@ai-sdk/google': (settings) => createGoogle(settings)('gemini-3-pro'),
  '@ai-sdk/openai': (settings) => createOpenAI(settings)('gpt-5'),
};

for (const [name, provider] of Object.entries(PROVIDERS)) {
  let error = null;
  try {
    const headers = { Authorization: `Bearer ${key}` };
    const client = await createMCPClient({ transport: { type: 'http', url, headers } });
    const settings = { apiKey: 'none', baseURL: `${model}/${encodeURIComponent(name)}` };
    await generateText({ model: provider(settings), tools: await client.tools(), prompt: 'Hello', maxRetries: 0 });
  } catch (raised) {
    error = String(raised);
  }
  const { version } = JSON.parse(readFileSync(`${import.meta.dirname}/../node_modules/${name}/package.json`));
  console.log(JSON.stringify([name, version, error]));
}
