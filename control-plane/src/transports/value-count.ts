// Counts the values of a JSON text while its bytes arrive, before anything parses them: parsing
// millions of small values stalls a node for seconds, and takes far more memory than the text.
import { Refusal } from "@hawser/contract";

/** Far above what any action needs: the largest list of an input has 100 items. */
const mostValues = 10_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;

/** Receives the text piece by piece. Throws `invalid_input` when it has more values than the limit. */
export function createValueCount(): (piece: Uint8Array) => void {
  // Every value but the first follows a comma, or the bracket or brace that opens its list or object.
  let values = 1;
  let isInString = false;
  let isEscaped = false;
  return (piece) => {
    for (const byte of piece) {
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) isInString = false;
      } else if (byte === quote) isInString = true;
      else if (byte === comma || byte === openBracket || byte === openBrace) {
        values += 1;
        if (values > mostValues) throw tooManyValues();
      }
    }
  };
}

function tooManyValues(): Refusal {
  return new Refusal(
    "invalid_input",
    "The body has more than 10,000 values. No action needs as many: send fewer in one call.",
  );
}
