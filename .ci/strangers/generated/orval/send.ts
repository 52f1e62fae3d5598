// Sends the requests of orval's client.

import { env } from "node:process";

export const service = { base: env["ROLECALL"] ?? "", key: env["ROLECALL_KEY"] ?? "" };

export async function send<Answer>(url: string, request: RequestInit): Promise<Answer> {
  const headers = new Headers(request.headers);
  headers.set("Authorization", `Bearer ${service.key}`);
  const response = await fetch(`${service.base}${url}`, { ...request, headers });
  const text = await response.text();
  return { status: response.status, data: text === "" ? undefined : JSON.parse(text), headers: response.headers } as Answer;
}
