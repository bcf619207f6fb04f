import type { JsonObject } from '../json-value.ts';

/** A conversation after one of its replies. */
export interface KeptTurn {
  /** The messages before the next turn, with the reply as the last one. */
  readonly messages: readonly unknown[];
  /** Members that apply to every turn. */
  readonly fixed: JsonObject;
  /** Each reply can be continued once. */
  isContinued: boolean;
}

export interface ThreadStore {
  keep(messageId: string, turn: KeptTurn): void;
  /** Undefined for a turn that was not kept, and for one that has expired. */
  find(messageId: string): KeptTurn | undefined;
  clear(): void;
}

const LIFETIME_MS = 300_000;
const MAX_TURNS = 1000;

/** Keeps the newest turns in memory, for some minutes. */
export const createThreadStore = (now: () => number): ThreadStore => {
  const turns = new Map<string, { readonly turn: KeptTurn; readonly expiresAt: number }>();
  return {
    keep: (messageId, turn) => {
      turns.set(messageId, { turn, expiresAt: now() + LIFETIME_MS });
      if (turns.size > MAX_TURNS) for (const oldest of turns.keys()) return void turns.delete(oldest);
    },
    find: (messageId) => {
      const found = turns.get(messageId);
      return found && found.expiresAt > now() ? found.turn : undefined;
    },
    clear: () => turns.clear(),
  };
};
