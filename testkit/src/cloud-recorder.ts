// Records the requests of an agent to a cloud, whose answers a test cannot play. The agent reaches it through a
// proxy, under the cloud's own names, with a certificate of its own authority. Every other name is refused.
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "./certificate-authority.ts";
import { startConnectProxy } from "./connect-proxy.ts";
import { removeDirectory } from "./remove-directory.ts";

interface CloudRequest {
  /** Such as `POST host/path`. */
  line: string;
  authorization: string | undefined;
}

export interface CloudRecorder extends AsyncDisposable {
  /** The environment with which an agent reaches and trusts it. */
  environment: Record<string, string>;
  requests: CloudRequest[];
}

/** Answers a request with what `answers` has for its line, and else with 403. */
export async function startCloudRecorder(
  hosts: readonly string[],
  answers: Record<string, object> = {},
): Promise<CloudRecorder> {
  await using startup = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), "hawser-cloud-"));
  startup.defer(() => removeDirectory(place));
  const { authorityFile, key, certificate } = makeCertificate(place, hosts);
  const requests: CloudRequest[] = [];
  const server = createServer({ key, cert: certificate }, (request, response) => {
    const { method, url, headers } = request;
    const line = `${method} ${headers.host}${url}`;
    requests.push({ line, authorization: headers.authorization });
    const answer = answers[line];
    request.resume();
    response.writeHead(answer ? 200 : 403, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { message: "This cloud only records." }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  startup.defer(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const proxy = startup.use(await startConnectProxy(hosts, (server.address() as AddressInfo).port));
  const owned = startup.move();
  return {
    environment: {
      HTTPS_PROXY: proxy.url,
      NO_PROXY: "127.0.0.1",
      NODE_EXTRA_CA_CERTS: authorityFile,
      SSL_CERT_FILE: authorityFile,
    },
    requests,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
