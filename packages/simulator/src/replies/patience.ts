import type { ServerResponse } from 'node:http';

/** Waits that end at once when the client leaves. */
export interface Patience {
  /** Waits for so many milliseconds, for a promise, or for ever. False once the client has left. */
  wait(until: number | Promise<void> | undefined): Promise<boolean>;
  /** Waits until the socket takes more. */
  drained(): Promise<boolean>;
}

export const createPatience = (response: ServerResponse): Patience => {
  let wake: (() => void) | null = null;
  const wakeUp = (): void => wake?.();
  response.on('close', wakeUp);
  response.on('drain', wakeUp);
  const sleep = async (start: (resolve: () => void) => void): Promise<boolean> => {
    if (response.destroyed) return false;
    await new Promise<void>((resolve) => {
      wake = resolve;
      start(resolve);
    });
    wake = null;
    return !response.destroyed;
  };
  return {
    wait: async (until) => {
      let timer: NodeJS.Timeout | undefined;
      const stayed = await sleep((resolve) => {
        if (typeof until === 'number') timer = setTimeout(resolve, until);
        else void until?.then(resolve);
      });
      clearTimeout(timer);
      return stayed;
    },
    drained: () => sleep(() => {}),
  };
};
