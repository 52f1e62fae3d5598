// Asks the browser to create or to use a passkey, and submits its answer with the form.

"use strict";

const form = document.getElementById("passkey");

/** Encodes bytes as the service reads them: base64url without padding. */
function encode(buffer) {
  const text = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Decodes base64url. */
function decode(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Creates a passkey. */
async function create(options) {
  options.challenge = decode(options.challenge);
  options.user.id = decode(options.user.id);
  for (const known of options.excludeCredentials ?? []) known.id = decode(known.id);
  const created = await navigator.credentials.create({ publicKey: options });
  const { attestationObject, clientDataJSON } = created.response;
  return {
    id: created.id,
    rawId: encode(created.rawId),
    type: created.type,
    response: { attestationObject: encode(attestationObject), clientDataJSON: encode(clientDataJSON) },
    extensions: { credProps: created.getClientExtensionResults().credProps },
  };
}

/** Uses a passkey. */
async function use(options) {
  options.challenge = decode(options.challenge);
  const used = await navigator.credentials.get({ publicKey: options });
  const { authenticatorData, clientDataJSON, signature, userHandle } = used.response;
  return {
    id: used.id,
    rawId: encode(used.rawId),
    type: used.type,
    response: {
      authenticatorData: encode(authenticatorData),
      clientDataJSON: encode(clientDataJSON),
      signature: encode(signature),
      userHandle: userHandle && encode(userHandle),
    },
  };
}

/** Shows one of the messages that the page contains, or none. */
function show(id) {
  for (const message of ["unsupported", "known", "refused"]) {
    const element = document.getElementById(message);
    if (element) element.hidden = message !== id;
  }
}

/** Asks the browser, and submits the form with its answer. */
async function start() {
  const button = form.querySelector("button");
  const options = JSON.parse(form.dataset.options);
  button.disabled = true;
  show(null);
  try {
    const answer = await (form.dataset.task === "create" ? create(options) : use(options));
    form.elements.credential.value = JSON.stringify(answer);
    form.submit();
  } catch (error) {
    button.disabled = false;
    const unsupported = ["SecurityError", "NotSupportedError"].includes(error.name);
    show(unsupported ? "unsupported" : error.name === "InvalidStateError" ? "known" : "refused");
  }
}

if (form && !window.PublicKeyCredential) {
  show("unsupported");
} else if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    // The answer is there already if only the name had to be corrected.
    if (form.elements.credential.value) return;
    event.preventDefault();
    start();
  });
  if (form.dataset.start === "at once") start();
}
