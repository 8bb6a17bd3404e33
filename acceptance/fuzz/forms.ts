// Texts of a certain form: samples of good, bad and debatable ones, and how any other text is
// judged. Nothing is guessed: what neither the interface, a reading nor threat T8 decides is judged
// "either".
import type { Form } from "./shape.ts";

export type Verdict = "accept" | "refuse" | "either";

interface FormRules {
  good: readonly string[];
  bad: readonly string[];
  /** Judges what is in neither list. */
  judge: (text: string) => Verdict;
}

const badNames = [
  "..",
  ".git",
  ".",
  "a/b",
  "-x",
  "x".repeat(256),
  "widget.",
  "widget ",
  "a\nb",
  "../x",
  "/srv/x",
  "--upload-pack=x",
];

const badUrls = [
  "--upload-pack=x",
  "-u x",
  "ext::sh -c x",
  "EXT::",
  "EXT::sh -c x",
  "file:///x",
  "/x",
  "ssh://-oProxyCommand=x/y",
  "https://h/%0ahost=z",
  "https:///h",
  "https://user:password@h/r",
  "ssh://user:password@h/r",
  "https://h/r\n",
  "https://h/\u0007r",
  "https://h/r\u007f",
  "",
];

export const forms: Record<Form, FormRules> = {
  "absolute-path": {
    good: ["/", "/srv/code", "/srv/größe", "/srv/a b", "/srv/../etc", "//srv", "/srv/code/", "/ש"],
    bad: ["srv/code", "./x", "../x", "~/x", "C:\\x", " /srv", "\n/srv", "file:///srv", ""],
    judge: (text) => (text.startsWith("/") ? "accept" : "refuse"),
  },
  "owner/name": {
    good: ["acme/widget", "acme-inc/widget.js", "a/b", "user1/site_2"],
    bad: ["acme", "acme/", "/widget", "a/b/c", "-a/b", "a/..", "a/.git", "a/b\n", "../b", ""],
    judge: (text) => (/^[^/]+\/[^/]+$/.test(text) ? "either" : "refuse"),
  },
  "clone-url": {
    good: [
      "https://github.com/acme/widget",
      "https://git.example.com:8443/a/b/c.git",
      "ssh://git@github.com/acme/widget.git",
      "git@github.com:acme/widget.git",
    ],
    bad: badUrls,
    judge: (text) => (/^[-/]|^ext::|^file:|\p{Cc}/iu.test(text) ? "refuse" : "either"),
  },
  "checkout-name": {
    good: ["widget", "widget-2", "widget_x", "größe", "x".repeat(255)],
    bad: badNames,
    judge: (text) => (/^-|[/\p{Cc}]|[. ]$|^.{256,}$/u.test(text) ? "refuse" : "either"),
  },
  "attachment-url": {
    good: ["https://example.com/a.png", "data:text/plain,hello", "data:image/png;base64,AAAA"],
    bad: ["http://example.com/a", "file:///etc/passwd", "ftp://h/a", "javascript:1", "a.png", ""],
    judge: (text) => (/^(?:https:|data:)/i.test(text) ? "either" : "refuse"),
  },
  "date-time": {
    good: [
      "2030-01-31T09:00:00Z",
      "2030-01-31T09:00:00.123Z",
      "2030-01-31T09:00:00+02:00",
      "2028-02-29T23:59:59-11:30",
      "2030-01-31T09:00:00",
      "2001-09-09T01:46:40Z",
    ],
    bad: [
      "soon",
      "",
      "2030-02-30T09:00:00Z",
      "2029-02-29T09:00:00Z",
      "2030-13-01T09:00:00Z",
      "2030-00-10T09:00:00Z",
      "2030-01-31T25:00:00Z",
      "2030-01-31T09:61:00Z",
      "31.01.2030 09:00",
      "Thu, 31 Jan 2030 09:00:00 GMT",
      "1893488400",
      "2030-01-31T09:00:00Z\n",
      "2030-01-31T09:00:00ZZ",
      "२०३०-०१-३१T09:00:00Z",
      "2030-01-31T09:00:00+99:99",
      "NaN",
    ],
    // Texts that begin like a date are debatable: ISO 8601 has weeks, ordinals and more.
    judge: (text) => (/^[+-]?\d{4}/.test(text) && text.length < 64 ? "either" : "refuse"),
  },
  "command-name": {
    good: ["compact", "review", "mcp:tool", "größe"],
    bad: [],
    judge: (text) => (text.startsWith("/") ? "either" : "accept"),
  },
  untold: { good: [], bad: [], judge: () => "either" },
};

/** Texts of a form on which opinions differ; whatever the answer, it must be a clean one. */
export const debatable: readonly string[] = [
  "HTTPS://h/r",
  "http://h/r",
  "git://h/r",
  "C:/x",
  "https://h",
  "https://token@h/r",
  "git@h::x",
  "https://h/\u202er",
  "https://h/r%00",
  "a/b;id",
  "git~1",
  ".GIT",
  "2030-01-31",
  "2030-W05-4",
  "2030-01-31T23:59:60Z",
  "2030-01-31T24:00:00Z",
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00+14:00",
  "9999-12-31T23:59:59-14:00",
  "+275760-09-13T00:00:00Z",
  "/compact",
  "Europe/Berlin",
  "europe/berlin",
  "Etc/GMT+25",
  "localtime",
  "+02:00",
  "W10",
  "WyIwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDAiXQ",
  "WyJcdTAwMDAiLCIwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDAiXQ",
  "WyLDvyIsImZmZmZmZmZmLWZmZmYtZmZmZi1mZmZmLWZmZmZmZmZmZmZmZiJd",
  "a@b.example",
  "2099-12-31T00:00:00Z",
];

export function judgeForm(form: Form, text: string): Verdict {
  const { good, bad, judge } = forms[form];
  if (good.includes(text)) return "accept";
  if (bad.includes(text)) return "refuse";
  return judge(text);
}
