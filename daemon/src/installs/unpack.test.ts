// What npm makes is unpacked as it is; what it would never make is refused, and writes nothing outside.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { makeTarball, paxPart, tarEnd, tarPart, type TarPart } from "@hawser/testkit/tarball.ts";
import { InstallRefused } from "./refused.ts";
import { unpack } from "./unpack.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-unpack-"));
after(() => rmSync(directory, { recursive: true, force: true }));
let count = 0;

async function unpackBytes(bytes: Buffer, limitBytes = 1e6) {
  const own = join(directory, String(++count));
  mkdirSync(own);
  const tarball = join(own, "package.tgz");
  writeFileSync(tarball, bytes);
  const into = join(own, "in/here");
  let read = 0;
  const onBytes = (more: number) => void (read += more);
  const { signal } = new AbortController();
  const outcome = await unpack({ tarball, into, limitBytes, onBytes, signal }).catch(
    (error: unknown) => error,
  );
  return { own, into, outcome, read };
}

const long = `package/${"d".repeat(60)}/${"e".repeat(60)}/file`;
const tool = { name: "package/bin/tool", content: "#!/bin/sh\n", mode: 0o755 };

test("files, directories, long names and executable bits come out as they went in", async () => {
  const big = Buffer.alloc(300_000, "x");
  const bytes = makeTarball([
    paxPart({ comment: "0123456789abcdef" }, "g"),
    { name: "package/", type: "5" },
    { name: "package/empty/", type: "5" },
    tool,
    { name: "package/setuid", content: "s", mode: 0o6755 },
    { name: "package/none", content: "" },
    { name: "package/big", content: big },
    paxPart({ path: long, mtime: "499162500.5" }),
    { name: "package/short", content: "by pax" },
    paxPart({ size: "4" }),
    { name: "package/sized", content: "four" },
    { name: "package/Zoë 🙂", content: "é" },
  ]);
  const { into, outcome, read } = await unpackBytes(bytes);
  assert.equal(outcome, 10 + 1 + 300_000 + 6 + 4 + 2);
  assert.equal(read, bytes.length);
  const text = (path: string) => readFileSync(join(into, path), "utf8");
  const mode = (path: string) => statSync(join(into, path)).mode & 0o7777;
  assert.deepEqual(readdirSync(join(into, "empty")), []);
  assert.deepEqual([text("none"), text("sized"), text("Zoë 🙂")], ["", "four", "é"]);
  assert.equal(text(long.slice("package/".length)), "by pax");
  assert.ok(!existsSync(join(into, "short")));
  assert.ok(readFileSync(join(into, "big")).equals(big));
  assert.deepEqual([mode("bin/tool"), mode("setuid"), mode("none")], [0o755, 0o755, 0o644]);
});

const bad = (part: Partial<TarPart>): Buffer =>
  makeTarball([tool, { name: "package/x", content: "x", ...part }]);
const flipped = (bytes: Buffer, at: number) => {
  const changed = Buffer.from(bytes);
  changed[at]! ^= 1;
  return changed;
};
const whole = Buffer.concat([tarPart(tool), tarPart({ name: "package/b", content: "b" }), tarEnd]);

const hostile: Record<string, Buffer> = {
  "a name that climbs": bad({ name: "package/../../escaped" }),
  "a name that climbs at its end": bad({ name: "package/a/.." }),
  "an absolute name": bad({ name: "/tmp/escaped" }),
  "an absolute name below package": bad({ name: "package//tmp/escaped" }),
  "a name outside package": bad({ name: "other/x" }),
  "a name that only begins like package": bad({ name: "packages/x" }),
  "a file in the place of package": bad({ name: "package" }),
  "an empty name": bad({ name: "" }),
  "a dot in the way": bad({ name: "package/./x" }),
  "a pax name that climbs": makeTarball([paxPart({ path: "package/../escaped" }), tool]),
  "a pax name that is absolute": makeTarball([paxPart({ path: "/tmp/escaped" }), tool]),
  "a pax name with a zero in it": makeTarball([paxPart({ path: "package/a\0b" }), tool]),
  "a symbolic link": bad({ type: "2", link: "/etc", content: "" }),
  "a hard link": bad({ type: "1", link: "package/bin/tool", content: "" }),
  "a character device": bad({ type: "3", content: "" }),
  "a block device": bad({ type: "4", content: "" }),
  "a named pipe": bad({ type: "6", content: "" }),
  "a contiguous file": bad({ type: "7" }),
  "a sparse file": bad({ type: "S" }),
  "a long name of GNU's": bad({ type: "L" }),
  "a directory with a content": bad({ type: "5" }),
  "the same file twice": makeTarball([tool, tool]),
  "a file where a directory is": makeTarball([tool, { name: "package/bin", content: "x" }]),
  "a directory where a file is": makeTarball([tool, { name: "package/bin/tool/x", content: "x" }]),
  "a name that no disk takes": makeTarball([paxPart({ path: `package/${"n".repeat(300)}` }), tool]),
  "a size that is no number": bad({ size: "12345678xyz\0" }),
  "a size in base 256": bad({ size: "\x80\0\0\0\0\0\0\0\0\0\0\x01" }),
  "a negative pax size": makeTarball([paxPart({ size: "-1" }), tool]),
  "a pax size of many digits": makeTarball([paxPart({ size: "9".repeat(20) }), tool]),
  "a pax header that is too long": makeTarball([paxPart({ path: "x".repeat(70_000) }), tool]),
  "a pax record with a wrong length": makeTarball([
    { name: "PaxHeader", type: "x", content: "99 path=package/x\n" },
    tool,
  ]),
  "a pax record with no length": makeTarball([{ name: "p", type: "x", content: "path" }, tool]),
  "an archive that is no ustar": bad({ magic: "oldie" }),
  "a header with a flipped bit": gzipSync(flipped(whole, 1024 + 3)),
  "no end": makeTarball([tool], Buffer.alloc(0)),
  "an end in the middle of a file": gzipSync(whole.subarray(0, 512 + 5)),
  "an end in the middle of a header": gzipSync(whole.subarray(0, 1024 + 100)),
  "nothing at all": Buffer.alloc(0),
  "an empty archive": gzipSync(Buffer.alloc(0)),
  "no gzip": Buffer.from("package/x".repeat(100)),
  "a gzip that is cut": gzipSync(whole).subarray(0, 60),
  "a gzip with a flipped bit": flipped(gzipSync(whole), gzipSync(whole).length - 5),
};

for (const [name, bytes] of Object.entries(hostile)) {
  test(`${name} is refused`, async () => {
    const { own, outcome } = await unpackBytes(bytes);
    assert.ok(outcome instanceof InstallRefused, String(outcome));
    assert.equal(outcome.code, "damaged");
    assert.match(outcome.message, /^The package is refused: .+\.$/);
    assert.ok(!existsSync("/tmp/escaped"));
    assert.deepEqual(readdirSync(own).sort(), ["in", "package.tgz"]);
    assert.deepEqual(readdirSync(join(own, "in")), ["here"]);
  });
}

test("what grows beyond the limit is refused before it is written", async () => {
  const zeros = makeTarball([tool, { name: "package/zeros", content: Buffer.alloc(5_000_000) }]);
  assert.ok(zeros.length < 10_000);
  const { into, outcome } = await unpackBytes(zeros, 1_000_000);
  assert.ok(outcome instanceof InstallRefused);
  assert.match(outcome.message, /larger than 1000000 bytes/);
  assert.ok(!existsSync(join(into, "zeros")));
});

test("what the disk or a signal says is passed on, and is no damage", async () => {
  const own = join(directory, "elsewhere");
  mkdirSync(own);
  writeFileSync(join(own, "package.tgz"), makeTarball([{ name: "package/x", content: "x" }]));
  const signal = AbortSignal.abort(new Error("enough"));
  const unpacking = { into: join(own, "in"), limitBytes: 1e6, onBytes() {}, signal };
  await assert.rejects(unpack({ ...unpacking, tarball: join(own, "package.tgz") }), (error) => {
    assert.ok(!(error instanceof InstallRefused));
    return true;
  });
  const missing = { ...unpacking, signal: new AbortController().signal };
  await assert.rejects(unpack({ ...missing, tarball: join(own, "missing.tgz") }), /ENOENT/);
});
