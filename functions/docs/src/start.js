SwaggerUIBundle({
  spec: DOCUMENT,
  dom_id: "#viewer",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  // Read-only: no requests are sent from this page.
  supportedSubmitMethods: [],
  validatorUrl: null,
});
