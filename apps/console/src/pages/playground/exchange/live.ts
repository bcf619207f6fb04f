import { useSyncExternalStore } from 'react';

/** A value that changes more often than it can be drawn. */
export interface Live<T> {
  /** The newest value. */
  get(): T;
  set(value: T): void;
  /** The value that is drawn: at most `DRAW_EVERY_MS` old. */
  drawn(): T;
  subscribe(listener: () => void): () => void;
}

/** A stream brings hundreds of events in a second: the page is drawn for many of them at once. */
const DRAW_EVERY_MS = 50;

export function createLive<T>(first: T): Live<T> {
  const listeners = new Set<() => void>();
  let newest = first;
  let drawn = first;
  let isWaiting = false;
  const draw = (): void => {
    isWaiting = false;
    drawn = newest;
    for (const listener of listeners) listener();
  };
  return {
    get: () => newest,
    set: (value) => {
      newest = value;
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(draw, DRAW_EVERY_MS);
    },
    drawn: () => drawn,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export const useLive = <T>(live: Live<T>): T => useSyncExternalStore(live.subscribe, live.drawn);
