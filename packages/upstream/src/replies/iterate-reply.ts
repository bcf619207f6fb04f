import type { Reply } from './reply.ts';

/** Pulls a reply's body chunk by chunk; the connection is paused while no chunk is pulled. */
export async function* iterateReply(reply: Reply): AsyncGenerator<Buffer, void, undefined> {
  const waiting: Buffer[] = [];
  let state: { readonly done: boolean; readonly error?: unknown } = { done: false };
  let wake = (): void => undefined;
  reply.consume({
    onChunk: (chunk) => {
      waiting.push(chunk);
      wake();
      return false;
    },
    onEnd: () => {
      state = { done: true };
      wake();
    },
    onError: (error) => {
      state = { done: true, error };
      wake();
    },
  });
  try {
    while (true) {
      const chunk = waiting.shift();
      if (chunk !== undefined) yield chunk;
      else if (state.done) break;
      else {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        reply.resume();
        if (waiting.length === 0 && !state.done) await woken;
      }
    }
    if (state.error !== undefined) throw state.error;
  } finally {
    if (!state.done) reply.cancel();
  }
}
