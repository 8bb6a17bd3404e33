// Text that somebody else wrote, such as a host's name. Characters that nobody sees, or that turn the order of the
// others round, are shown by their numbers, so that no name looks like another one.
import type { ReactNode } from "react";

/** Controls, format characters (among them those that change the direction), line separators, private use. */
const unseen = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}])/u;

export function Plain({ text }: { text: string }): ReactNode {
  if (!unseen.test(text)) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {text.split(unseen).map((part, index) =>
        // Every second part is what the pattern has found.
        index % 2 === 0 ? (
          part
        ) : (
          <span key={index} className="unseen">
            {numberOf(part)}
          </span>
        ),
      )}
    </bdi>
  );
}

/** For places without markup, such as the title of a tab. */
export function plainText(text: string): string {
  return text
    .split(unseen)
    .map((part, index) => (index % 2 === 0 ? part : numberOf(part)))
    .join("");
}

/** As in U+202E. */
function numberOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}
