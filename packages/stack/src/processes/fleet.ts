import type { Running, Supervised } from './supervise.ts';

/** The running processes, in the order of their start, and how to stop them in order. */
export interface Fleet {
  /** Members of a lower wave stop first; those of one wave together. */
  add(wave: number, supervised: Supervised<Running>, timeoutMs: number): void;
  /** Registers an action for when all have ended. */
  last(action: () => Promise<void>): void;
  stop(): Promise<void>;
  /** Ends all at once. Resolves when they have ended. */
  end(): Promise<void>;
}

interface Member {
  readonly wave: number;
  readonly supervised: Supervised<Running>;
  readonly timeoutMs: number;
}

export function createFleet(): Fleet {
  const members: Member[] = [];
  const actions: (() => Promise<void>)[] = [];
  let stopped: Promise<void> | undefined;

  const stop = async (): Promise<void> => {
    const waves = [...new Set(members.map(({ wave }) => wave))].sort((one, other) => one - other);
    for (const wave of waves) {
      const together = members.filter((member) => member.wave === wave);
      await Promise.all(together.map(({ supervised, timeoutMs }) => supervised.stop(timeoutMs)));
    }
    for (const action of actions.toReversed()) await action();
  };

  const stopOnce = (): Promise<void> => {
    stopped ??= stop();
    return stopped;
  };
  return {
    add: (wave, supervised, timeoutMs) => void members.push({ wave, supervised, timeoutMs }),
    last: (action) => void actions.push(action),
    stop: stopOnce,
    end: async () => {
      for (const { supervised } of members) supervised.end();
      await stopOnce();
    },
  };
}
