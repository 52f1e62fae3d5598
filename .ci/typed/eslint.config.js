// The session must use the generated types without assertions, types of its own, or `any`.

import { configs } from "typescript-eslint";

export default [
  ...configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { noInlineConfig: true },
    rules: {
      "@typescript-eslint/ban-ts-comment": ["error", { "ts-expect-error": true }],
      "@typescript-eslint/consistent-type-assertions": ["error", { assertionStyle: "never" }],
      "no-restricted-syntax": ["error", "TSInterfaceDeclaration", "TSTypeAliasDeclaration"],
    },
  },
];
