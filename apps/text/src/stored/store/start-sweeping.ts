import type { ConversationStore } from './conversation-store.ts';

interface SweepOptions {
  readonly intervalMs: number;
  readonly conversations: Pick<ConversationStore, 'sweep'>;
  readonly onSwept: (count: number) => void;
  /** Called once per outage of Redis or of the files, with its reason. */
  readonly onProblem: (reason: string) => void;
}

/** Removes what has expired, again and again. Several processes may do so at once. */
export function startSweeping({ intervalMs, conversations, onSwept, onProblem }: SweepOptions): {
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
  }, intervalMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await sweep;
    },
  };
}
