// Compiled messages, and how they are drawn with values. Messages use names and plurals, and nothing else of ICU.

export type Message = string | readonly Piece[];
type Piece = string | readonly [name: string] | readonly [name: string, is: "plural", forms: Forms];
/** By a number, such as "0", or by a word of the language's rules; "#" in a form is the number. */
type Forms = Readonly<Record<string, Message>>;
export type Values = Readonly<Record<string, string | number>>;

const rules = new Intl.PluralRules("en");
const figures = new Intl.NumberFormat("en");

export function draw(message: Message, values: Values, number?: number): string {
  if (typeof message === "string") return message;
  return message
    .map((piece) => {
      if (typeof piece === "string") {
        return piece === "#" && number !== undefined ? figures.format(number) : piece;
      }
      const [name, , forms] = piece;
      const value = values[name]!;
      if (!forms) return String(value);
      const n = Number(value);
      return draw(forms[String(n)] ?? forms[rules.select(n)] ?? forms["other"]!, values, n);
    })
    .join("");
}
