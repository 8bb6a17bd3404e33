// The files of prompts, on this host's disk from when the prompt is accepted until its turn is over. They
// are neither unpacked nor read, and no file has a name that a caller chose.
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SentAttachment } from "@hawser/host-protocol";
import { BlobRefused, type BlobLane } from "../blobs/lane.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { PromptAttachment } from "../drivers/driver.ts";
import { describe } from "../log.ts";
import { UrlRefused, fetchUrl } from "./fetch-url.ts";

/** A file that came with the prompt itself, through an exposure. */
export interface ReceivedFile {
  mime: string;
  filename: string | null;
  from: { bytes: Uint8Array };
}

export type WantedFile = SentAttachment | ReceivedFile;

export interface Attachments {
  /** Downloads them. Throws a refusal that names the file at fault. */
  bring(sent: readonly WantedFile[], signal: AbortSignal): Promise<PromptAttachment[]>;
  /** Removes files that belong to no prompt any more. */
  tidy(needed: readonly PromptAttachment[]): void;
}

interface AttachmentsOptions {
  directory: string;
  lane: Pick<BlobLane, "get">;
  fetch?: typeof fetchUrl;
  now?: () => number;
}

const MiB = 1024 * 1024;
const largest = 16 * MiB;
/** Limit for the files of one prompt together: an agent gets them all at once. */
const largestTogether = 32 * MiB;
const bringMs = 20_000;
/** Files are kept this long between their download and their prompt's acceptance. */
const youngMs = 10 * 60_000;

export function createAttachments(options: AttachmentsOptions): Attachments {
  const { directory, lane, fetch = fetchUrl, now = Date.now } = options;

  async function bringOne(
    wanted: WantedFile,
    path: string,
    signal: AbortSignal,
  ): Promise<PromptAttachment & { size: number }> {
    const { from, mime, filename } = wanted;
    if ("bytes" in from) {
      writeFileSync(path, from.bytes, { mode: 0o600 });
      return { mime, filename, path, size: from.bytes.length };
    }
    const { size } =
      "url" in from
        ? { size: await fetch({ url: from.url, path, longest: largest, signal }) }
        : await lane.get(from.sha256, path, { deadlineMs: bringMs, signal });
    const { fileId } = wanted as SentAttachment;
    return { mime, filename, path, size, ...(fileId !== undefined && { fileId }) };
  }

  return {
    async bring(sent, signal) {
      if (sent.length === 0) return [];
      const known = sent.map(({ from }) => ("size" in from ? from.size : 0));
      if (sum(known) > largestTogether) throw tooLarge();
      const own = join(directory, randomUUID());
      mkdirSync(own, { recursive: true, mode: 0o700 });
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(bringMs)]);
      const brought: (PromptAttachment & { size: number })[] = [];
      try {
        // One at a time: together they could exceed the limit before they are counted.
        for (const [place, each] of sent.entries()) {
          brought.push(
            await bringOne(each, join(own, String(place)), deadline).catch((error: unknown) => {
              throw asRefusal(error, place);
            }),
          );
          if (sum(brought.map(({ size }) => size)) > largestTogether) throw tooLarge();
        }
      } catch (error) {
        rmSync(own, { recursive: true, force: true });
        throw error;
      }
      return brought;
    },
    tidy(needed) {
      const kept = new Set(needed.map(({ path }) => dirname(path)));
      for (const name of namesIn(directory)) {
        const path = join(directory, name);
        const isYoung = now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < youngMs;
        if (!kept.has(path) && !isYoung) rmSync(path, { recursive: true, force: true });
      }
    },
  };
}

const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

const tooLarge = () =>
  new CommandRefusal(
    "invalid_input",
    `The files of one prompt may have ${largestTogether / MiB} MiB together.`,
    "attachments",
  );

function asRefusal(error: unknown, place: number): unknown {
  if (error instanceof UrlRefused) {
    return new CommandRefusal("invalid_input", error.message, `attachments.${place}.url`);
  }
  if (error instanceof BlobRefused) {
    const message = "The file is not there any more. Upload it again.";
    return new CommandRefusal("invalid_input", message, `attachments.${place}.fileId`);
  }
  return new CommandRefusal("attachment_failed", `A file did not arrive: ${describe(error)}`);
}
