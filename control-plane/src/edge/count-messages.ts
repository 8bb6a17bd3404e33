// Counts the messages that a host sends, while their bytes pass through the edge. A host masks its
// WebSocket frames. This unmasks the lines of the NATS protocol, and skips payloads by their length.
//
// Guarantee: no message that NATS would process is missed. Where NATS might read the bytes differently
// from this code, the bytes are refused (decision 0032).

/**
 * Returns how many lines of the protocol ended in this chunk, each of which is a message. A frame without
 * one counts as a message too. Returns undefined if the bytes are not the protocol.
 */
export type MessageCounter = (chunk: Buffer) => number | undefined;

interface Frame {
  isControl: boolean;
  mask: Buffer;
  length: number;
  /** How many of its bytes have passed. */
  passed: number;
  /** How many lines ended in it. */
  lines: number;
}

/** Two bytes, a length of eight bytes, and the mask. */
const longestHeader = 14;
const [lineFeed, carriageReturn, space, tab, zero, nine] = Buffer.from("\n\r \t09");
const longestVerb = 4;

export function createMessageCounter(): MessageCounter {
  const header = Buffer.alloc(longestHeader);
  let headerLength = 0;
  let frame: Frame | undefined;

  /** Bytes of a payload that are still to come, with the line end that follows it. */
  let payloadLeft = 0;
  let line = startLine();

  /** Returns 1 if the byte ends a line; undefined if the line is malformed. */
  function readLineByte(byte: number): 0 | 1 | undefined {
    if (byte === lineFeed) {
      if (/^H?PUB$/i.test(line.verb)) {
        if (!Number.isSafeInteger(line.number)) return undefined;
        payloadLeft = line.number + 2;
      }
      line = startLine();
      return 1;
    }
    // NATS drops the last byte before the line feed if it saw a carriage return anywhere in the line.
    if (line.isReturned) return undefined;
    if (byte === carriageReturn) line.isReturned = true;
    else if (byte === space || byte === tab) line.isBetweenWords = true;
    else {
      if (line.isBetweenWords && line.verb !== "") line.isVerbRead = true;
      if (line.isBetweenWords) line.number = 0;
      line.isBetweenWords = false;
      line.number = byte >= zero! && byte <= nine! ? line.number * 10 + byte - zero! : NaN;
      if (!line.isVerbRead && line.verb.length <= longestVerb) {
        line.verb += String.fromCharCode(byte);
      }
    }
    return 0;
  }

  return (chunk) => {
    let count = 0;
    let at = 0;
    while (at < chunk.length) {
      if (!frame) {
        header[headerLength++] = chunk[at++]!;
        const read = readHeader(header.subarray(0, headerLength));
        if (read === "refused") return undefined;
        if (read === "incomplete") continue;
        frame = read;
        headerLength = 0;
      }
      const end = Math.min(chunk.length, at + frame.length - frame.passed);
      while (at < end) {
        const skipped = frame.isControl ? end - at : Math.min(payloadLeft, end - at);
        if (skipped > 0) {
          if (!frame.isControl) payloadLeft -= skipped;
          frame.passed += skipped;
          at += skipped;
        } else {
          const ended = readLineByte(chunk[at++]! ^ frame.mask[frame.passed++ & 3]!);
          if (ended === undefined) return undefined;
          frame.lines += ended;
          count += ended;
        }
      }
      if (frame.passed < frame.length) continue;
      if (frame.lines === 0) count++;
      frame = undefined;
    }
    return count;
  };
}

/** The line that is being read: its first word, and its last word as a number. */
function startLine() {
  return { verb: "", isVerbRead: false, isBetweenWords: true, isReturned: false, number: 0 };
}

function readHeader(bytes: Buffer): Frame | "incomplete" | "refused" {
  if (bytes.length < 2) return "incomplete";
  const [first, second] = [bytes[0]!, bytes[1]!];
  const opcode = first & 0x0f;
  const isControl = opcode >= 8;
  // The edge passes on no offer to compress, and every client must mask.
  const isCompressed = (first & 0x70) !== 0;
  const isMasked = (second & 0x80) !== 0;
  const isKnown = isControl ? opcode <= 10 : opcode <= 2;
  if (isCompressed || !isMasked || !isKnown) return "refused";
  const short = second & 0x7f;
  const lengthSize = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (bytes.length < 2 + lengthSize + 4) return "incomplete";
  const length =
    lengthSize === 0
      ? short
      : lengthSize === 2
        ? bytes.readUInt16BE(2)
        : Number(bytes.readBigUInt64BE(2));
  return { isControl, mask: Buffer.from(bytes.subarray(-4)), length, passed: 0, lines: 0 };
}
