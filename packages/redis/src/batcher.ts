/**
 * Sends items in the order of the calls, many in one call of Redis. Items that arrive in the same turn of the event loop, or
 * while a call runs, go together.
 */
export interface Batcher<Item> {
  /** For items that a request waits for: sent after this turn of the event loop. */
  run(item: Item): Promise<unknown>;
  /** For items that no request waits for: they go with the next `run`, or five milliseconds later. */
  runSoon(item: Item): Promise<unknown>;
  /**
   * Sends all items of this turn after it, also while a call runs. Resolves when they are on their way: Redis runs them
   * before whatever anybody sends from then on.
   */
  sent(): Promise<void>;
  /** Waits until every item has its answer or has failed. */
  flush(): Promise<void>;
}

interface BatcherOptions<Item> {
  /** One call: the items' answers in their order, an `Error` for one that failed by itself. */
  readonly send: (items: readonly Item[]) => Promise<readonly unknown[]>;
  /** Items of one call. Redis serves nobody else meanwhile. */
  readonly maxItems: number;
  /** The same by size, for items of very different ones; an item that is larger goes alone. */
  readonly maxSize?: number;
  readonly sizeOf?: (item: Item) => number;
}

interface Queued<Item> {
  readonly item: Item;
  /** A request waits for it. */
  readonly isAwaited: boolean;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (cause: unknown) => void;
}

/** How long an item that no request waits for may wait for others. Hardly any provider answers in that time. */
const GATHER_MS = 5;

export function createBatcher<Item>(options: BatcherOptions<Item>): Batcher<Item> {
  const { send, maxItems, maxSize = Number.POSITIVE_INFINITY, sizeOf = () => 0 } = options;
  let queue: Queued<Item>[] = [];
  /** Calls that have not been answered yet. */
  let running = 0;
  /** How many of the queue a request waits for. */
  let awaited = 0;
  /** Set while the queue is to be sent after this turn of the event loop. */
  let immediate: NodeJS.Immediate | undefined;
  /** Set while the queue is to be sent soon. */
  let timer: NodeJS.Timeout | undefined;
  const onIdle: (() => void)[] = [];
  const onSent: (() => void)[] = [];

  /** The first items of the queue: as many as one call may hold, at least one. */
  const takeBatch = (): readonly Queued<Item>[] => {
    let size = 0;
    const end = queue.findIndex(({ item }, index) => {
      size += sizeOf(item);
      return index >= maxItems || (index > 0 && size > maxSize);
    });
    const batch = end < 0 ? queue : queue.slice(0, end);
    queue = queue.slice(batch.length);
    for (const { isAwaited } of batch) if (isAwaited) awaited -= 1;
    return batch;
  };

  const sendBatch = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (onSent.length === 0) {
      clearImmediate(immediate);
      immediate = undefined;
    }
    running += 1;
    const batch = takeBatch();
    try {
      const answers = await send(batch.map(({ item }) => item));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
    } catch (cause) {
      // Redis is away or silent: items that arrived meanwhile have waited as long, and were never sent.
      const waiting = queue;
      queue = [];
      awaited = 0;
      for (const { reject } of [...batch, ...waiting]) reject(cause);
    }
    running -= 1;
    if (running > 0) return;
    if (queue.length === 0) for (const resolve of onIdle.splice(0)) resolve();
    else if (onIdle.length > 0) void sendBatch();
    else schedule();
  };

  const sendTurn = (): void => {
    immediate = undefined;
    if (queue.length > 0) void sendBatch();
    while (onSent.length > 0 && queue.length > 0) void sendBatch();
    for (const resolve of onSent.splice(0)) resolve();
  };

  const schedule = (): void => {
    if (running > 0) return;
    if (awaited > 0 || queue.length >= maxItems) immediate ??= setImmediate(sendTurn);
    else timer ??= setTimeout(() => void sendBatch(), GATHER_MS);
  };

  const add = (item: Item, isAwaited: boolean): Promise<unknown> =>
    new Promise((resolve, reject) => {
      queue.push({ item, isAwaited, resolve, reject });
      if (isAwaited) awaited += 1;
      schedule();
    });

  return {
    run: (item) => add(item, true),
    runSoon: (item) => add(item, false),
    sent: () =>
      new Promise((resolve) => {
        onSent.push(resolve);
        immediate ??= setImmediate(sendTurn);
      }),
    flush: async () => {
      if (running === 0 && queue.length > 0) void sendBatch();
      if (running > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
    },
  };
}
