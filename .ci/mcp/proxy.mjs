// A loopback proxy that adds the API key, because the conformance suite sends no headers of its own. It also translates
// its own origin to that of the service.

import http from 'node:http';

// Starts the proxy. Returns its URL.
export async function proxy(target, origin, key) {
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) {
      chunks.push(chunk);
    }
    const { host, connection, origin: sent, ...headers } = request.headers;
    if (sent !== undefined) {
      headers.origin = sent === `http://${own}` || sent === `http://localhost:${port}` ? origin : sent;
    }
    headers.authorization = `Bearer ${key}`;
    const options = { method: request.method, headers };
    const forwarded = http.request(new URL(request.url, target), options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    forwarded.end(Buffer.concat(chunks));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  const own = `127.0.0.1:${port}`;
  server.unref();
  return `http://${own}`;
}
