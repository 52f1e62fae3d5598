// orval's client with fetch, and its schemas for Zod.
const input = process.env.DOCUMENT;
export default {
  client: {
    input,
    output: {
      target: "../made/orval/client.ts",
      client: "fetch",
      override: { mutator: { path: "send.ts", name: "send", extension: ".js" } },
    },
  },
  zod: { input, output: { target: "../made/orval/zod.ts", client: "zod" } },
};
