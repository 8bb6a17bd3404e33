// Whose address counts, behind proxies and without them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClientAddress } from "./client-address.ts";

test("only proxies of the operator are believed, from the nearest one outwards", () => {
  const cases: { proxies?: string[]; peer: string; header?: string | string[]; address: string }[] =
    [
      { peer: "192.0.2.1", address: "192.0.2.1" },
      { peer: "::ffff:192.0.2.1", address: "192.0.2.1" },
      { peer: "192.0.2.1", header: "203.0.113.9", address: "192.0.2.1" },
      { proxies: ["10.0.0.0/8"], peer: "10.0.0.1", header: "203.0.113.9", address: "203.0.113.9" },
      {
        proxies: ["10.0.0.0/8"],
        peer: "10.0.0.1",
        header: "198.51.100.7, 203.0.113.9, 10.0.0.2",
        address: "203.0.113.9",
      },
      { proxies: ["10.0.0.0/8"], peer: "10.0.0.1", address: "10.0.0.1" },
      { proxies: ["10.0.0.0/8"], peer: "10.0.0.1", header: "forged", address: "10.0.0.1" },
      { proxies: ["10.0.0.0/8"], peer: "192.0.2.1", header: "10.0.0.1", address: "192.0.2.1" },
      { proxies: ["fd00::/8"], peer: "fd00::1", header: "2001:db8::1", address: "2001:db8::1" },
    ];
  for (const { proxies = [], peer, header, address } of cases) {
    assert.equal(
      createClientAddress(proxies)(peer, header),
      address,
      JSON.stringify({ peer, header }),
    );
  }
});
