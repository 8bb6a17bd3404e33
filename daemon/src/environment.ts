// The environment of the programs that the daemon starts: the variables by which a program finds its user's
// settings and the network. All others are left out, so that no secret in the daemon's environment reaches
// an agent, and no variable of whoever started the daemon changes what runs.

const allowed = new Set(
  `HOME USER LOGNAME SHELL PATH TMPDIR TZ LANG LANGUAGE
   XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME
   DBUS_SESSION_BUS_ADDRESS SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
   http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY`.split(
    /\s+/,
  ),
);

export type Environment = Record<string, string>;

/** The variables of `own` that are passed on, and `more`, which replaces them. */
export function childEnvironment(
  more: Environment = {},
  own: NodeJS.ProcessEnv = process.env,
  needed: readonly string[] = [],
): Environment {
  const passed = Object.entries(own).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      (allowed.has(entry[0]) || entry[0].startsWith("LC_") || needed.includes(entry[0])),
  );
  return { ...Object.fromEntries(passed), ...more };
}
