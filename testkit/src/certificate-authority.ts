// A certificate authority for one test, and a certificate that it signs for the given host names.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  /** The authority's certificate, which a client has to trust. */
  authorityFile: string;
  key: Buffer;
  certificate: Buffer;
}

export function makeCertificate(directory: string, names: readonly string[]): Certificate {
  const at = (name: string) => join(directory, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...newKey, "-days", "1", "-subj", "/CN=Hawser test authority",
    "-keyout", at("authority.key"), "-out", at("authority.pem")); // oxfmt-ignore
  openssl("req", ...newKey, "-subj", `/CN=${names[0]}`,
    "-keyout", at("server.key"), "-out", at("server.csr")); // oxfmt-ignore
  writeFileSync(
    at("extensions"),
    `subjectAltName=${names.map((name) => `${/^[\d.]+$/.test(name) ? "IP" : "DNS"}:${name}`).join(",")}\n`,
  );
  openssl("x509", "-req", "-days", "1", "-in", at("server.csr"), "-CA", at("authority.pem"),
    "-CAkey", at("authority.key"), "-CAcreateserial", "-extfile", at("extensions"),
    "-out", at("server.pem")); // oxfmt-ignore
  return {
    authorityFile: at("authority.pem"),
    key: readFileSync(at("server.key")),
    certificate: readFileSync(at("server.pem")),
  };
}
