// Another site on this machine: where applications wait for their answers, and where attackers keep their pages.

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
  // Nobody has to close it.
  server.unref();
  const { port } = server.address();
  return {
    /** Its origin under a name of this machine. */
    origin: (host = "127.0.0.1") => `http://${host}:${port}`,
    /** The addresses that were visited, oldest first. */
    visits,
    /** What its paths show. */
    pages,
  };
}
