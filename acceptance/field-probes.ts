// Values to send for a pinned field, and whether each must be accepted. Each probe is one clause of the
// field's row in requirements.tsv, in the words of that row. Made from the pin alone.
import type { PinnedShape } from "./pin.ts";

/** Values to be accepted and values to be refused; undefined means that the field is left out. */
export interface Probe {
  clause: string;
  accept?: unknown[];
  refuse?: unknown[];
}

export function probesOf(name: string, required: boolean, shape: PinnedShape): Probe[] {
  return [
    required
      ? { clause: `without ${name} → 400`, refuse: [undefined] }
      : { clause: `without ${name} → not 400 for it`, accept: [undefined] },
    shape.nullable
      ? { clause: "null accepted", accept: [null] }
      : { clause: "null → 400", refuse: [null] },
    ...(shape.enum ? enumProbes(shape) : typeProbes(name, shape)),
  ];
}

function enumProbes({ type, enum: listed = [] }: PinnedShape): Probe[] {
  if (type === "integer") {
    const clause = `${listed.join(", ")} accepted`;
    return [
      { clause, accept: listed },
      { clause: '0, 59, 61, 1441, "60" → 400', refuse: [0, 59, 61, 1441, "60", 60.5] },
    ];
  }
  const kindsThatLink = listed.includes("codex") && !listed.includes("opencode");
  const words = kindsThatLink ? ["opencode", "other"] : ["other"];
  return [
    { clause: "each listed value accepted", accept: listed },
    {
      clause: `${words.map((word) => `"${word}"`).join(", ")}, 7 → 400`,
      refuse: [...words, 7, "", String(listed[0]).toUpperCase(), ` ${listed[0]}`],
    },
  ];
}

function typeProbes(name: string, shape: PinnedShape): Probe[] {
  switch (shape.type) {
    case "string":
      return [
        { clause: `${name} 7 → 400`, refuse: [7, true, [], {}] },
        ...lengthProbes(name, shape),
        ...formatProbes(shape),
      ];
    case "boolean":
      return [
        { clause: `${name} true and false accepted`, accept: [true, false] },
        { clause: '"yes", 1 → 400', refuse: ["yes", 1, 0, "true"] },
      ];
    case "integer": {
      const { min = 0, max = 0 } = shape;
      return [
        { clause: `${min} and ${max} accepted`, accept: [min, max] },
        {
          clause: `${min - 1}, ${max + 1}, -1, 1.5, "1" → 400`,
          refuse: [min - 1, max + 1, -1, 1.5, "1"],
        },
      ];
    }
    case "array":
      return arrayProbes(name, shape);
    case "map":
      return [
        { clause: `${name} {"a":"b"} passes the schema`, accept: [{ a: "b" }, {}] },
        { clause: '{"a":1}, [], "x" → 400', refuse: [{ a: 1 }, [], "x"] },
      ];
    default:
      return [{ clause: `${name} "x", [] → 400`, refuse: ["x", []] }];
  }
}

/** Letters, and characters that JavaScript counts as two code units each. */
const ofLength = (length: number) => ["x".repeat(length), "🙂".repeat(length)];

function lengthProbes(name: string, { min, max }: PinnedShape): Probe[] {
  const probes: Probe[] = [];
  if (min) probes.push({ clause: `${name} "" → 400`, refuse: [""] });
  if (min && !max) probes.push({ clause: "1 character accepted", accept: ofLength(1) });
  if (!max) return probes;
  probes.push({
    clause: `${max} characters accepted, ${max + 1} → 400`,
    accept: ofLength(max),
    refuse: ofLength(max + 1),
  });
  if (!min) probes.push({ clause: '"" accepted', accept: [""] });
  return probes;
}

function formatProbes({ format }: PinnedShape): Probe[] {
  if (format === "absolute-path") return [{ clause: '"a/b" → 400', refuse: ["a/b", "", "./a"] }];
  if (format !== "date-time") return [];
  const good = "2030-01-01T00:00:00Z";
  return [{ clause: `"${good}" accepted, "soon" → 400`, accept: [good], refuse: ["soon", ""] }];
}

function arrayProbes(name: string, { min, max, items }: PinnedShape): Probe[] {
  const probes: Probe[] = [
    min
      ? { clause: `${name} [] → 400`, refuse: [[]] }
      : { clause: `${name} [] accepted`, accept: [[]] },
  ];
  if (max) {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `id ${i}`);
    const clause = `${max} items accepted, ${max + 1} → 400`;
    probes.push({ clause, accept: [many(max)], refuse: [many(max + 1)] });
  }
  if (items?.type === "object") {
    probes.push({ clause: `${name} ["x"], {} → 400`, refuse: [["x"], {}] });
  } else if (items?.type === "array") {
    probes.push({ clause: `${name} ["x"], [[7]] → 400`, refuse: [["x"], [[7]]] });
  } else {
    if (items?.min) probes.push({ clause: `${name} [""] → 400`, refuse: [[""]] });
    probes.push({ clause: `${name} [7], "x" → 400`, refuse: [[7], "x"] });
  }
  return probes;
}
