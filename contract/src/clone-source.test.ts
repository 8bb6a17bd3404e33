// Tables of what may and may not be handed to git, beginning with every text of threat T8.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isInsecureCloneUrl,
  nameOfRepository,
  objectToCheckoutName,
  objectToCloneUrl,
  objectToHostedRepository,
} from "./clone-source.ts";

test("an address that git or ssh could misread is refused", () => {
  const unsafe = [
    "--upload-pack=x",
    "-u x",
    "ext::sh -c x",
    "EXT::",
    "EXT::sh",
    "file:///x",
    "/x",
    "ssh://-oProxyCommand=x/y",
    "https://h/%0ahost=z",
    "https:///h",
    "https://user:password@h/r",
    "ssh://user:password@h/r",
    "user:password@h:r",
    "https://h/r\n",
    "https://h/\u0000r",
    "https://h/r\u007f",
    // Relatives of the above.
    "",
    "x",
    "./x",
    "../x",
    "C:\\x",
    "C:/x",
    "HTTPS://h/r",
    "HTTP://h/r",
    "GIT://h/r",
    "http://user:password@h/r",
    "http://token@h/r",
    "git://user@h/r",
    "git://user:password@h/r",
    "http://-h/r",
    "git://-oProxyCommand=x/y",
    "git://h:-x/r",
    "git://h/%0ahost=z",
    "http://h/r%0d",
    "http://h\\@evil/r",
    "http:///h",
    "git:///h",
    "http://h",
    "git://h/",
    "git://h/..",
    "git+ssh://h/r",
    "http::https://h/r",
    "ftp://h/r",
    "fd::17/x",
    "git@h::x",
    "git@h:-x",
    "git@-oProxyCommand=x:y",
    "-oProxyCommand=x@h:y",
    "ssh://-oProxyCommand=x@h/y",
    "ssh://git@-h/y",
    "ssh://h",
    "https://h",
    "https://h/",
    "https://-h/r",
    "https://token@h/r",
    "https://h:port/r",
    "https://h\\@evil/r",
    "https://h/r%00",
    "https://h/a%0D%0Ab",
    "https://h/r with space",
    "https://h/..",
    "https://h/.git",
    "https://h/-x",
    "https://h/r\u2028",
    "https://h/\u202er",
    "https://h/\ud800",
    `https://h/${"x".repeat(2048)}`,
  ];
  for (const url of unsafe) assert.notEqual(objectToCloneUrl(url), null, JSON.stringify(url));
});

test("an address with credentials is refused because of them", () => {
  for (const url of ["https://u:p@h/r", "http://u:p@h/r", "git://u@h/r", "ssh://u:p@h/r"]) {
    assert.match(objectToCloneUrl(url) ?? "", /credentials/, url);
  }
});

test("http and git addresses are well-formed, but not encrypted", () => {
  for (const url of [
    "http://h/r",
    "http://127.0.0.1:8080/a/r.git",
    "git://h/r",
    "git://h:9418/r",
  ]) {
    assert.equal(objectToCloneUrl(url), null, url);
    assert.equal(isInsecureCloneUrl(url), true, url);
  }
  for (const url of ["https://h/r", "ssh://h/r", "git@h:r", "git@http://h/r"]) {
    assert.equal(isInsecureCloneUrl(url), false, url);
  }
});

test("plain https and ssh addresses are accepted", () => {
  const safe = [
    "https://github.com/acme/widget",
    "https://github.com/acme/widget.git",
    "https://git.example.com:8443/a/b/c.git/",
    "https://dev.azure.com/org/My%20Project/_git/repo",
    "https://127.0.0.1/r",
    "https://[::1]:8443/r.git",
    "https://h/größe",
    "https://h/a@b/r",
    "ssh://git@github.com/acme/widget.git",
    "ssh://host.example/srv/git/widget.git",
    "ssh://git@host:2222/~me/widget",
    "git@github.com:acme/widget.git",
    "git@host:/srv/git/widget.git",
    "git@host:~me/widget",
    "git@[::1]:widget",
  ];
  for (const url of safe) assert.equal(objectToCloneUrl(url), null, url);
});

test("a directory name that leaves its root, hides git data or reads as an option is refused", () => {
  const unsafe = ["..", ".git", ".", "a/b", "-x", "x".repeat(256), "x.", "x "];
  const relatives = ["", ".GIT", "git~1", "a\\b", "/", "...", "--", "x\t", "a\nb", "\u0000"];
  const more = [
    "a\u200b",
    ".g\u200cit",
    "é".repeat(128),
    "x\u00a0",
    "a\u202eb",
    "\ud800",
    "a\u2028b",
  ];
  for (const name of [...unsafe, ...relatives, ...more]) {
    assert.notEqual(objectToCheckoutName(name), null, JSON.stringify(name));
  }
});

test("ordinary directory names are accepted", () => {
  const safe = [
    "widget",
    "a b",
    ".github",
    "a.git",
    "x-",
    "größe",
    "é".repeat(127),
    "x".repeat(255),
  ];
  for (const name of safe) assert.equal(objectToCheckoutName(name), null, name);
});

test("a hosted repository is an owner and a name", () => {
  for (const repo of ["a/b", "acme/widget.js", "acme-inc/_x", "user_corp/.github", "a/b.c-d"]) {
    assert.equal(objectToHostedRepository(repo), null, repo);
  }
  const unsafe = ["", "a", "a/", "/b", "a/b/c", "-a/b", "a/-b", "a/.", "a/..", "a/.git", "a/b."];
  for (const repo of [...unsafe, "a/b c", "a/b\n", "../b", "a/b;id", "a/$(x)", "https://h/r"]) {
    assert.notEqual(objectToHostedRepository(repo), null, JSON.stringify(repo));
  }
});

test("a checkout is called like its repository", () => {
  const names: [string, string][] = [
    ["https://h/acme/widget.git", "widget"],
    ["https://h/acme/widget/", "widget"],
    ["ssh://h/acme/widget/.git", "widget"],
    ["git@h:widget.git", "widget"],
    ["git@h:acme/widget", "widget"],
    ["acme/widget", "widget"],
  ];
  for (const [source, name] of names) assert.equal(nameOfRepository(source), name, source);
});
