// Notices between nodes. They may be lost. Each one contains its sender and a number, so a receiver finds a
// gap when the next notice of the same sender and subject arrives.

/** Messages that may be lost. */
export interface Notices {
  publish(subject: string, data: string): void;
  subscribe(
    subject: string,
    options: object,
    take: (message: { data: Uint8Array }) => void,
  ): () => void;
}

export interface NumberedNotices {
  /** The id of this node, which its notices contain. */
  nodeId: string;
  /** Returns the number of the notice. */
  publish(subject: string, notice: object): number;
  subscribe(subject: string, receiver: NoticeReceiver): NoticeSubscription;
  /**
   * Resolves once the subscriptions so far are in effect and what has arrived is read, or after `longestMs`,
   * which is short by default: if the fabric is away, a comparison finds what notices cannot report.
   */
  settled(longestMs?: number): Promise<void>;
}

interface NoticeReceiver {
  take(notice: unknown): void;
  /** Called when notices of this subject were lost. */
  lost(): void;
}

/** How far a node has numbered its notices of a subject, as the node has written it elsewhere. */
export interface NoticePosition {
  nodeId: string;
  number: number;
  /** How long ago the last of them was sent. */
  sentAgoMs: number;
}

export interface NoticeSubscription {
  /** Whether a notice up to this position has not arrived. */
  lacks(position: NoticePosition): boolean;
  /** Treats the notices up to this position as lost. */
  giveUp(position: NoticePosition): void;
  /** Ignores notices that were sent before now: the receiver reads everything again. */
  restart(): void;
  unsubscribe(): void;
}

interface NumberedNoticesParts {
  notices: Notices & { flush(): Promise<void> };
  nodeId: string;
  /** Called for each gap. */
  countLoss?: () => void;
  /** How many subjects have a remembered number. */
  mostSubjects?: number;
}

const longestFlushMs = 250;

export function createNumberedNotices(parts: NumberedNoticesParts): NumberedNotices {
  const { notices, nodeId, countLoss = () => {}, mostSubjects = 50_000 } = parts;
  /** The last number of each subject, the most recently used subject last. */
  const sent = new Map<string, number>();
  let total = 0;

  // A forgotten subject continues with a higher number, so that its receivers find a gap. If it began at 1
  // again, they could not see that notices are lost.
  const lastNumber = (subject: string) => sent.get(subject) ?? total;

  function remember(subject: string, number: number): number {
    sent.delete(subject);
    sent.set(subject, number);
    const [longestUnused] = sent.keys();
    if (sent.size > mostSubjects) sent.delete(longestUnused!);
    return number;
  }

  return {
    nodeId,
    publish(subject, notice) {
      const number = remember(subject, lastNumber(subject) + 1);
      total += 1;
      notices.publish(subject, JSON.stringify({ ...notice, from: nodeId, number }));
      return number;
    },
    subscribe(subject, receiver) {
      let countedFrom = performance.now();
      /** The highest number that has arrived, by sender. */
      const arrived = new Map<string, number>();
      // The fabric keeps the order of one connection, so none of this node's own earlier notices arrives.
      const skipOwn = () => arrived.set(nodeId, remember(subject, lastNumber(subject)));
      skipOwn();
      const lost = () => {
        countLoss();
        receiver.lost();
      };
      const unsubscribe = notices.subscribe(subject, {}, ({ data }) => {
        const { from, number, ...notice } = JSON.parse(Buffer.from(data).toString()) as {
          from?: string;
          number?: number;
        };
        if (from !== undefined && number !== undefined) {
          const last = arrived.get(from);
          arrived.set(from, Math.max(last ?? 0, number));
          if (last !== undefined && number > last + 1) lost();
        }
        receiver.take(notice);
      });
      return {
        lacks({ nodeId: from, number, sentAgoMs }) {
          const last = arrived.get(from);
          if (last !== undefined) return last < number;
          // No notice of this sender has arrived. Those that it sent before the subscription do not count.
          return sentAgoMs < performance.now() - countedFrom;
        },
        giveUp({ nodeId: from, number }) {
          arrived.set(from, number);
          lost();
        },
        restart() {
          arrived.clear();
          skipOwn();
          countedFrom = performance.now();
        },
        unsubscribe,
      };
    },
    async settled(longestMs = longestFlushMs) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, longestMs)));
      await Promise.race([notices.flush().catch(() => {}), late]);
      clearTimeout(timer);
    },
  };
}
