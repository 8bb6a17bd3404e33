// Which addresses webhooks may reach (T27, N31).
import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressNotAllowed, NameNotFound, createAddresses, isPublic } from "./addresses.ts";

const never = new AbortController().signal;

for (const address of [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.254",
  "168.63.129.16",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "3fff::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%lo",
  "2606:4700::1%lo",
  "fec0::1",
  "ff02::1",
  "not an address",
]) {
  test(`T27: ${address} is not public`, () => assert.equal(isPublic(address), false));
}

for (const address of ["8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700::1111"]) {
  test(`T27: ${address} is public`, () => assert.equal(isPublic(address), true));
}

for (const [url, objection] of [
  ["https://hooks.example/x", null],
  ["https://hooks.example:8443/x", null],
  ["https://8.8.8.8/x", null],
  ["http://hooks.example/x", "must be an https:// address"],
  ["https://hooks.example:8080/x", "must use the port 443 or 8443"],
  ["https://hooks.example:22/x", "must use the port 443 or 8443"],
  ["https://127.0.0.1/", "must not lead to a private or reserved address"],
  ["https://2130706433/", "must not lead to a private or reserved address"],
  ["https://0x7f.1/", "must not lead to a private or reserved address"],
  ["https://[::1]/", "must not lead to a private or reserved address"],
  ["https://[::ffff:7f00:1]/", "must not lead to a private or reserved address"],
  ["https://localhost/", "must not lead to a private or reserved address"],
  ["https://a.LOCALHOST.:8443/", "must not lead to a private or reserved address"],
  ["https://localhost.example/", null],
  ["https://notlocalhost/", null],
  ["https://169.254.169.254/latest/meta-data", "must not lead to a private or reserved address"],
] as const) {
  test(`T27: ${url} ${objection ?? "is accepted"}`, () => {
    assert.equal(createAddresses([]).objectTo(url), objection);
  });
}

test("T27: the operator's own networks may be reached with http and any port, and no others", async () => {
  const addresses = createAddresses(["10.1.0.0/16", "fd00:1::/32"], (name) =>
    Promise.resolve(name === "inside.example" ? ["10.1.2.3"] : ["10.2.0.1"]),
  );
  for (const url of ["http://10.1.2.3:9000/", "http://[fd00:1::5]/", "https://10.1.2.3/"]) {
    assert.equal(addresses.objectTo(url), null, url);
  }
  for (const url of ["http://10.2.0.1/", "https://10.2.0.1/", "https://[fd00:2::5]/"]) {
    assert.notEqual(addresses.objectTo(url), null, url);
  }
  assert.deepEqual(await addresses.find(new URL("http://inside.example:9000/"), never), [
    { address: "10.1.2.3", family: 4 },
  ]);
  await assert.rejects(
    addresses.find(new URL("http://outside.example/"), never),
    AddressNotAllowed,
  );
});

for (const [what, url, resolved, found] of [
  ["a public address", "https://hooks.example/", ["8.8.8.8"], ["8.8.8.8"]],
  ["only the public addresses", "https://a.example/", ["127.0.0.1", "8.8.8.8"], ["8.8.8.8"]],
  ["no private address", "https://a.example/", ["127.0.0.1", "::1"], AddressNotAllowed],
  ["no mapped address", "https://a.example/", ["::ffff:10.0.0.1"], AddressNotAllowed],
  ["no public address over http", "http://a.example/", ["8.8.8.8"], AddressNotAllowed],
  ["no public address at another port", "https://a.example:25/", ["8.8.8.8"], AddressNotAllowed],
  ["nothing for an unknown name", "https://a.example/", [], NameNotFound],
] as const) {
  test(`N31: a name leads to ${what}`, async () => {
    const addresses = createAddresses([], () => Promise.resolve([...resolved]));
    const finding = addresses.find(new URL(url), never);
    if (typeof found === "function") await assert.rejects(finding, found);
    else
      assert.deepEqual(
        (await finding).map(({ address }) => address),
        found,
      );
  });
}

test("N31: the name localhost and its like lead to no allowed address", async () => {
  const addresses = createAddresses([]);
  for (const name of ["localhost", "localhost."]) {
    await assert.rejects(
      addresses.find(new URL(`https://${name}/`), AbortSignal.timeout(5_000)),
      (error) => error instanceof AddressNotAllowed || error instanceof NameNotFound,
      name,
    );
  }
});

test("N31: localhost leads to this machine if the operator allows its loopback network", async () => {
  const addresses = createAddresses(["127.0.0.0/8"], () => assert.fail("it is not resolved"));
  const url = "http://localhost:9000/";
  assert.equal(addresses.objectTo(url), null);
  assert.deepEqual(await addresses.find(new URL(url), never), [
    { address: "127.0.0.1", family: 4 },
  ]);
});
