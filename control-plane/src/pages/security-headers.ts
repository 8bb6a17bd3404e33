// What browsers must refuse a page of the dashboard (decision 0085): anything of another origin, inline scripts and
// styles, frames around it, and texts that would become HTML.
const policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' blob:",
  "font-src": "'self'",
  "connect-src": "'self'",
  "worker-src": "'self'",
  "manifest-src": "'self'",
  "base-uri": "'none'",
  // Forms are sent by scripts.
  "form-action": "'none'",
  "frame-src": "'none'",
  "frame-ancestors": "'none'",
  "require-trusted-types-for": "'script'",
  // Makes the address of the worker that highlights code, and can be made once.
  "trusted-types": "hawser-worker",
};

export const securityHeaders: Record<string, string> = {
  "Content-Security-Policy": Object.entries(policy)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": [
    "camera",
    "display-capture",
    "geolocation",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
    "hid",
    "clipboard-read",
  ]
    .map((feature) => `${feature}=()`)
    .concat(
      "clipboard-write=(self)",
      "publickey-credentials-get=(self)",
      "publickey-credentials-create=(self)",
    )
    .join(", "),
};
