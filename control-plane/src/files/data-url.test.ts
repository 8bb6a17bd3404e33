// data: URLs, as a table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeDataUrl } from "./data-url.ts";

test("a data: address is decoded to its bytes; undefined if it cannot be read", () => {
  const cases: [url: string, text: string | undefined][] = [
    ["data:text/plain;base64,aGVsbG8=", "hello"],
    ["data:text/plain;charset=utf-8;BASE64,aGVs bG8", "hello"],
    ["DATA:,a%20b,c", "a b,c"],
    ["data:;base64,", ""],
    ["data:text/plain;base64,%%%", undefined],
    ["data:,%zz", undefined],
    ["data:text/plain", undefined],
    ["https://example.com/,x", undefined],
  ];
  for (const [url, text] of cases) assert.equal(decodeDataUrl(url)?.toString(), text, url);
});
