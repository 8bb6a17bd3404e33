// What becomes of a request: forwarded with our own directory, passed to the session layer, or refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, sessionIn, type JudgedRequest, type Reach } from "./judge.ts";
import { readTarget } from "./target.ts";

const here = "/srv/work trees/one";
const encoded = encodeURIComponent(here);
const reach: Reach = {
  directories: [here, "/srv/two"],
  directoryOf: (id) => ({ ses_own: here, ses_child: here, ses_two: "/srv/two" })[id],
};

const base64 = (text: string) => Buffer.from(text).toString("base64url");

type Case = [method: string, target: string, expected: string, headers?: JudgedRequest["headers"]];

const pinned = `directory=${encoded}`;
const cases: Case[] = [
  // Sessions.
  ["GET", "/session/ses_own", `/session/ses_own?${pinned}`],
  ["GET", `/session/ses_own?directory=${encoded}`, `/session/ses_own?${pinned}`],
  ["GET", "/session/ses_child/message?limit=5", `/session/ses_child/message?limit=5&${pinned}`],
  ["GET", "/session/ses_two/todo", "/session/ses_two/todo?directory=%2Fsrv%2Ftwo"],
  ["GET", "/session/ses_foreign", "forbidden_session"],
  ["GET", "/session/ses_own?directory=/", "forbidden_directory"],
  ["GET", "/session/ses_own?directory=/srv/two", "forbidden_directory"],
  ["GET", `/session/ses_own?directory=${encoded}%2F..`, "forbidden_directory"],
  ["GET", `/session/ses_own?directory=${encodeURIComponent(encoded)}`, "forbidden_directory"],
  ["POST", "/session/ses_own/message", "turn message ses_own"],
  ["POST", "/session/ses_own/abort", "turn abort ses_own"],
  ["POST", "/session/ses_foreign/abort", "forbidden_session"],
  ["POST", "/session/ses_own/prompt_async?directory=/", "forbidden_directory"],

  // Directories.
  ["GET", "/agent", `/agent?${pinned}`],
  ["GET", "/agent?directory=/srv/two", "/agent?directory=%2Fsrv%2Ftwo"],
  ["GET", "/agent?directory=/", "forbidden_directory"],
  ["GET", "/agent?directory=", "forbidden_directory"],
  ["GET", "/find/file?query=a%2Fb", `/find/file?query=a%2Fb&${pinned}`],
  ["GET", "/global/event", `/global/event?${pinned}`],
  ["GET", "/event?directory=/etc", "forbidden_directory"],

  // The header names a directory as well.
  ["GET", "/agent", "/agent?directory=%2Fsrv%2Ftwo", { "x-opencode-directory": "/srv/two" }],
  ["GET", "/agent", `/agent?${pinned}`, { "x-opencode-directory": encoded }],
  ["GET", "/agent", "forbidden_directory", { "x-opencode-directory": "/" }],
  ["GET", "/agent", "forbidden_directory", { "x-opencode-directory": "%E0%A4%A" }],
  ["GET", "/agent", "forbidden_directory", { "x-opencode-directory": [here, "/"] }],
  ["GET", "/agent", "forbidden_directory", { "x-opencode-directory": `${here}, /` }],
  ["GET", `/agent?${pinned}`, "forbidden_directory", { "x-opencode-directory": "/srv/two" }],
  ["POST", "/session/ses_own/abort", "forbidden_directory", { "x-opencode-directory": "/" }],

  // Routes that no exposure serves.
  ["POST", "/session", "forbidden_route"],
  ["DELETE", "/session/ses_own", "forbidden_route"],
  ["POST", "/session/ses_own/shell", "forbidden_route"],
  ["POST", "/session/ses_own/fork", "forbidden_route"],
  ["POST", "/session/ses_own/share", "forbidden_route"],
  ["POST", "/session/ses_own/permissions/per_1", "forbidden_route"],
  ["POST", "/permission/per_1/reply", "forbidden_route"],
  ["POST", "/question/que_1/reply", "forbidden_route"],
  ["PATCH", "/config", "forbidden_route"],
  ["PATCH", "/global/config", "forbidden_route"],
  ["POST", "/global/dispose", "forbidden_route"],
  ["POST", "/instance/dispose", "forbidden_route"],
  ["PUT", "/auth/stub", "forbidden_route"],
  ["GET", "/pty", "forbidden_route"],
  ["GET", "/file/content?path=a.txt", "forbidden_route"],
  ["GET", "/api/session/ses_own", "forbidden_route"],
  ["CONNECT", "/pty/pty_1/connect", "forbidden_route"],
  ["GET", "/nothing", "forbidden_route"],

  // Addresses that servers read in different ways.
  ["GET", "/session/ses_own/../ses_foreign", "forbidden_target"],
  ["GET", "/session/./ses_own", "forbidden_target"],
  ["GET", "/session%2Fses_own", "forbidden_target"],
  ["GET", "/session/%73es_own", "forbidden_target"],
  ["GET", "/session/ses_own%2f..%2fses_foreign", "forbidden_target"],
  ["GET", "/session/ses_own%252f", "forbidden_target"],
  ["GET", "/session\\ses_own", "forbidden_target"],
  ["GET", "/session/ses_own%5cmessage", "forbidden_target"],
  ["GET", "/session/ses_own;x=1", "forbidden_target"],
  ["GET", "//session/ses_own", "forbidden_target"],
  ["GET", "/session//ses_own", "forbidden_target"],
  ["GET", "/session/ses_own/", "forbidden_target"],
  ["GET", "http://127.0.0.1/session/ses_own", "forbidden_target"],
  ["GET", "session/ses_own", "forbidden_target"],
  ["GET", "*", "forbidden_target"],
  ["GET", "", "forbidden_target"],
  ["GET", "/session/ses_own#x", "forbidden_target"],
  ["GET", "/session/ses_own\0", "forbidden_target"],

  // Parameters.
  ["GET", `/agent?${pinned}&${pinned}`, "forbidden_target"],
  ["GET", `/agent?${pinned}&directory=/`, "forbidden_target"],
  ["GET", "/agent?director%79=/", "forbidden_target"],
  ["GET", "/agent?directory[]=/", "forbidden_target"],
  ["GET", "/agent?directory=/=", "forbidden_target"],
  ["GET", "/agent?auth_token=YTpi", "forbidden_target"],
  ["GET", "/agent?workspace=wrk_1", "forbidden_target"],
  ["GET", "/session/ses_own?sessionID=ses_foreign", "forbidden_target"],
  ["GET", "/session/ses_own?limit=1", "forbidden_target"],
  ["GET", "/find/file?query=a%00b", "forbidden_target"],
  ["GET", "/find/file?query=%zz", "forbidden_target"],
  ["GET", "/find/file?query=a;directory=/", "forbidden_target"],
  ["GET", "/agent?", "forbidden_target"],
  ["GET", "/agent?&", "forbidden_target"],
  ["GET", `/find/file?query=${"a".repeat(9_000)}`, "forbidden_target"],

  // The page.
  ["GET", "/", "/"],
  ["GET", "/assets/index-a1.js", "/assets/index-a1.js"],
  ["GET", "/?auth_token=YTpi", "forbidden_target"],
  ["GET", "/index.html", "forbidden_route"],
  ["GET", `/${base64(here)}/session`, "/"],
  ["GET", `/${base64(here)}/session/ses_own`, "/"],
  ["GET", `/${base64(here)}/session/ses_child`, "/"],
  ["GET", `/${base64(here)}/session/ses_two`, "forbidden_session"],
  ["GET", `/${base64(here)}/session/ses_foreign`, "forbidden_session"],
  ["GET", `/${base64("/")}/session/ses_own`, "forbidden_directory"],
  ["GET", `/${base64(here)}/session/ses_own/message`, "forbidden_route"],
  ["GET", "/experimental/session", "forbidden_route"],
];

function shown(request: JudgedRequest): string {
  const verdict = judge(request, reach);
  if (verdict.do === "refuse") return verdict.code;
  return verdict.do === "turn" ? `turn ${verdict.task} ${verdict.sessionID}` : verdict.path;
}

test("a request is forwarded with our own directory, or refused", () => {
  for (const [method, target, expected, headers = {}] of cases) {
    assert.equal(shown({ method, target, headers }), expected, `${method} ${target}`);
  }
});

test("without a session there is no directory", () => {
  const none: Reach = { directories: [], directoryOf: () => undefined };
  const verdict = judge({ method: "GET", target: "/agent", headers: {} }, none);
  assert.equal(verdict.do, "refuse");
});

test("only listed headers reach opencode, and the directory is ours", () => {
  const headers = {
    accept: "*/*",
    "if-none-match": '"a"',
    authorization: "Basic YTpi",
    cookie: "a=b",
    forwarded: "for=1.2.3.4",
    "x-forwarded-for": "1.2.3.4",
    "x-forwarded-host": "evil.example",
    "x-opencode-directory": here,
    "x-opencode-ticket": "1",
    "transfer-encoding": "chunked",
    host: "evil.example",
    origin: "https://evil.example",
    "content-length": "5",
    "user-agent": "opencode/1",
    range: ["bytes=0-1", "bytes=2-3"],
  };
  const verdict = judge({ method: "GET", target: "/agent", headers }, reach);
  assert.ok(verdict.do === "forward");
  assert.deepEqual(verdict.headers, {
    accept: "*/*",
    "if-none-match": '"a"',
    "x-opencode-directory": encoded,
  });
});

test("the session of a request is read from its path only", () => {
  const of = (target: string) => sessionIn({ method: "GET", target, headers: {} });
  assert.equal(of("/session/ses_x/todo"), "ses_x");
  assert.equal(of("/agent?query=ses_x"), undefined);
  assert.equal(of("/session/%73es_x"), undefined);
});

test("an address is read once, and written as it was meant", () => {
  const query = (raw: string) => [...readTarget(raw)!.query];
  assert.deepEqual(query("/a?b=c+d%20e&f="), [
    ["b", "c d e"],
    ["f", ""],
  ]);
  assert.deepEqual(query("/a?b=%252f"), [["b", "%2f"]]);
});
