import type { ConversationStore } from './conversation-store.ts';

const INTERVAL_MS = 60_000;

interface SweepOptions {
  readonly conversations: Pick<ConversationStore, 'sweep'>;
  readonly onSwept: (count: number) => void;
  /** Called once per outage of Redis or of the files, with its reason. */
  readonly onProblem: (reason: string) => void;
}

/** Removes what has expired, every minute. Several processes may do so at once. */
export function startSweeping({ conversations, onSwept, onProblem }: SweepOptions): {
  close(): Promise<void>;
} {
  let sweep: Promise<void> | null = null;
  let isAway = false;
  const timer = setInterval(() => {
    sweep ??= conversations
      .sweep()
      .then(
        (count) => {
          isAway = false;
          onSwept(count);
        },
        (cause: unknown) => {
          if (!isAway) onProblem(cause instanceof Error ? cause.message : String(cause));
          isAway = true;
        },
      )
      .finally(() => {
        sweep = null;
      });
  }, INTERVAL_MS).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await sweep;
    },
  };
}
