// hey-api's client, which checks requests and responses with Zod.
export default {
  output: { path: "made/hey_api", importFileExtension: ".js" },
  plugins: ["@hey-api/client-fetch", "zod", { name: "@hey-api/sdk", validator: true }],
};
