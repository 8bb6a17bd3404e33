// Origins of repositories: what a clone address is compared by.
import assert from "node:assert/strict";
import { test } from "node:test";
import { originOf, TrustedRepository } from "./trusted-repository.ts";

const same = [
  "https://github.com/acme/app",
  "https://github.com/acme/app.git",
  "https://GitHub.com/acme/app.git/",
  "https://github.com:443/acme/app",
  "ssh://git@github.com/acme/app.git",
  "ssh://github.com:22/acme/app",
  "git@github.com:acme/app.git",
];
for (const address of same) {
  test(`${address} is github.com/acme/app`, () =>
    assert.equal(originOf(address), "github.com/acme/app"));
}

test("another port and another case of the path are other origins", () => {
  assert.equal(originOf("https://github.com:8443/acme/app"), "github.com:8443/acme/app");
  assert.equal(originOf("https://github.com/Acme/app"), "github.com/Acme/app");
});

const none = [
  "http://github.com/acme/app",
  "git://github.com/acme/app",
  "file:///github.com/acme/app",
  "/srv/github.com/acme/app",
  "github.com/acme/app",
  "github.com:acme/app",
  "https://user@github.com/acme/app",
  "https://evil.example#github.com/acme/app",
  "https://github.com/evil/../acme/app",
  "https://github.com/evil/..%2facme/app",
  "https://github.com//acme/app",
  "https://github.com/acme/app?x",
  "https://github.com/acme/app\n",
  "mallory@github.com:acme/app",
  "ssh://mallory@github.com/acme/app",
  "git@evil.example:/github.com/acme/app",
  "git@github.com:22:acme/app",
  "ext::sh -c x",
];
for (const address of none) {
  test(`${JSON.stringify(address)} has no origin`, () =>
    assert.equal(originOf(address), undefined));
}

test("a trusted repository is named by host and path", () => {
  const accepts = (origin: string) =>
    TrustedRepository.safeParse({ origin, parts: ["skills"] }).success;
  assert.ok(accepts("github.com/acme/app") && accepts("git.example:8443/a/b/c"));
  for (const origin of ["github.com", "https://github.com/a/b", "github.com/a/b.git", "*/a", ""])
    assert.ok(!accepts(origin), origin);
});
