/** Bytes that a process may hold at once, shared out in the order of requests. */
export interface ByteBudget {
  /** Waits until so many bytes are free. A loan larger than the budget gets the whole budget. Rejects when the signal aborts. */
  take(bytes: number, signal: AbortSignal): Promise<ByteLoan>;
}

export interface ByteLoan extends Disposable {
  readonly bytes: number;
}

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

export function createByteBudget(maxBytes: number): ByteBudget {
  let free = maxBytes;
  const waiting: Waiting[] = [];
  const next = () => {
    for (let first = waiting[0]; first !== undefined && first.bytes <= free; first = waiting[0]) {
      waiting.shift();
      free -= first.bytes;
      first.begin();
    }
  };
  return {
    take: async (wanted, signal) => {
      signal.throwIfAborted();
      const bytes = Math.min(wanted, maxBytes);
      const begun = Promise.withResolvers<void>();
      const mine = { bytes, begin: begun.resolve };
      waiting.push(mine);
      const leave = () => {
        const at = waiting.indexOf(mine);
        if (at === -1) return;
        waiting.splice(at, 1);
        begun.reject(signal.reason);
        next();
      };
      signal.addEventListener('abort', leave, { once: true });
      next();
      try {
        await begun.promise;
      } finally {
        signal.removeEventListener('abort', leave);
      }
      return {
        bytes,
        [Symbol.dispose]: () => {
          free += bytes;
          next();
        },
      };
    },
  };
}
