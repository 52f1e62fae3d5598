// Another site on this machine. It receives redirects to applications and serves attackers' pages.

import { createServer } from "node:http";

/** Starts a site on a free port. */
export async function listen() {
  const visits = [];
  const pages = new Map();
  const server = createServer((request, response) => {
    const address = new URL(request.url, "http://site.invalid");
    if (address.pathname === "/favicon.ico") {
      response.writeHead(204).end();
      return;
    }
    visits.push(address);
    const body = pages.get(address.pathname) ?? "<h1>Somewhere else</h1>";
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(`<!doctype html><html lang="en"><title>Elsewhere</title>${body}`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // It does not keep the process alive, so nothing has to close it.
  server.unref();
  const { port } = server.address();
  return {
    /** Returns the origin with this host name. */
    origin: (host = "127.0.0.1") => `http://${host}:${port}`,
    /** The requested URLs, oldest first. */
    visits,
    /** The HTML of the pages, by path. */
    pages,
  };
}
