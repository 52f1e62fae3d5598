SwaggerUIBundle({
  spec: DOCUMENT,
  dom_id: "#viewer",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  // Shows, and sends nothing.
  supportedSubmitMethods: [],
  validatorUrl: null,
});
