// The classes that the highlighter gives to code. Its themes know colours only, so here each "colour" is the number of a
// class of review.css; the colours themselves are tokens, and follow light and dark.

/** At the place of their number; 0 is plain text. */
export const codeClasses = ["", "k", "s", "f", "c"] as const;

const numbered = (at: number) => `#00000${at}`;

/** The number of the class that a colour of the theme stands for. */
export const classOf = (colour: string | undefined): number => Number(colour?.at(-1) ?? 0);

export const codeTheme = {
  name: "hawser",
  type: "light" as const,
  fg: numbered(0),
  bg: numbered(0),
  settings: [
    { settings: { foreground: numbered(0), background: numbered(0) } },
    {
      scope: ["keyword", "storage", "constant.language", "variable.language", "entity.name.tag"],
      settings: { foreground: numbered(1) },
    },
    {
      scope: ["keyword.operator", "storage.type.function.arrow", "punctuation"],
      settings: { foreground: numbered(0) },
    },
    {
      scope: [
        "keyword.operator.new",
        "keyword.operator.expression",
        "keyword.operator.logical.python",
      ],
      settings: { foreground: numbered(1) },
    },
    {
      scope: ["string", "constant.other.symbol", "markup.inline.raw", "string punctuation"],
      settings: { foreground: numbered(2) },
    },
    {
      scope: ["string meta.embedded", "meta.template.expression"],
      settings: { foreground: numbered(0) },
    },
    {
      scope: [
        "entity.name.function",
        "support.function",
        "entity.other.attribute-name",
        "support.type.property-name",
        "markup.heading",
      ],
      settings: { foreground: numbered(3) },
    },
    { scope: ["comment", "comment punctuation"], settings: { foreground: numbered(4) } },
  ],
};
