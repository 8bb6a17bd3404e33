// Passwords: their hashes, and a limit for how many are computed at once. A hash takes about 70 ms of a processor
// and 19 MiB, so strangers who guess must not be able to occupy the node with them.
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { Refusal } from "@hawser/contract";

const hash = promisify(argon2);
/** As OWASP recommends for argon2id. */
const cost = { memory: 19 * 1024, passes: 2, parallelism: 1, tagLength: 32 };
/** Hashes that a node computes at the same time, so that a flood of guesses occupies one processor: 14 a second. */
const mostComputing = 1;
/** Less than two seconds of waiting. */
const mostWaiting = 24;

export interface Passwords {
  /** `isKnown`: as below. Throws `rate_limited` if too many passwords wait. */
  hash(password: string, options: { isKnown: boolean }): Promise<string>;
  /**
   * Takes the same time without a stored hash. `isKnown`: the attempt of a browser that the person has signed in with
   * precedes those of strangers. Throws `rate_limited` if too many passwords wait.
   */
  isRight(password: string, stored: string | null | undefined, isKnown: boolean): Promise<boolean>;
}

export function createPasswords(): Passwords {
  const places = createPlaces();
  return {
    async hash(password, { isKnown }) {
      const salt = randomBytes(16);
      const tag = await places.run(isKnown, () => derive(password, salt));
      return [
        "argon2id",
        cost.memory,
        cost.passes,
        salt.toString("base64"),
        tag.toString("base64"),
      ].join("$");
    },
    async isRight(password, stored, isKnown) {
      const [, memory, passes, salt, tag] = (stored ?? nobody).split("$");
      const used = { ...cost, memory: Number(memory), passes: Number(passes) };
      const derived = await places.run(isKnown, () =>
        derive(password, Buffer.from(salt!, "base64"), used),
      );
      const isSame = timingSafeEqual(derived, Buffer.from(tag!, "base64"));
      return isSame && stored !== null && stored !== undefined;
    },
  };
}

/** No password has this hash. */
const nobody = `argon2id$${cost.memory}$${cost.passes}$${Buffer.alloc(16).toString("base64")}$${Buffer.alloc(32).toString("base64")}`;

function derive(password: string, nonce: Buffer, used = cost): Promise<Buffer> {
  // The same letters can be typed as different code points.
  const message = Buffer.from(password.normalize("NFKC"));
  return hash("argon2id", { message, nonce, ...used });
}

interface Places {
  run<T>(isKnown: boolean, work: () => Promise<T>): Promise<T>;
}

function createPlaces(): Places {
  let computing = 0;
  const known: (() => void)[] = [];
  const unknown: (() => void)[] = [];
  return {
    async run(isKnown, work) {
      if (computing >= mostComputing) {
        const queue = isKnown ? known : unknown;
        if (queue.length >= mostWaiting) throw busy();
        await new Promise<void>((resolve) => queue.push(resolve));
      } else computing += 1;
      try {
        return await work();
      } finally {
        const next = known.shift() ?? unknown.shift();
        // The place passes to the next one.
        if (next) next();
        else computing -= 1;
      }
    },
  };
}

const busy = () =>
  new Refusal("rate_limited", "Too many people are signing in right now. Try again in a moment.", {
    retryAfterMs: 2_000,
  });
