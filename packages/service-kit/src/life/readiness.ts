import { READINESS_INTERVAL_MS, type ReadinessReport } from '@gateway/contracts/readiness';

/** Whether the process can serve: it has started, is not stopping, and each of its checks passes. */
export interface Readiness {
  /** A named condition, such as "redis answers". May throw or resolve to false. */
  check(name: string, passes: () => boolean | Promise<boolean>): void;
  open(): void;
  /** Call it when the process stops. Its watchers learn it at once. Resolves when all have gone; to whether there were any. */
  close(): Promise<boolean>;
  report(): Promise<ReadinessReport>;
  /** Calls the watcher soon, then every `READINESS_INTERVAL_MS`, and at once when the process stops. Returns how to end this. */
  watch(watcher: ReadinessWatcher): () => void;
}

export type ReadinessWatcher = (report: ReadinessReport) => void;

/** A check that has not answered by then counts as failed. */
const CHECK_TIMEOUT_MS = 2000;

const STARTING: ReadinessReport = { status: 'unready', missing: ['serving'] };
const STOPPING: ReadinessReport = { status: 'stopping', missing: ['serving'] };

/** The readiness of one part of a process. Its checks have the part's name. */
export const readinessOf = (part: string, whole: Readiness): Readiness => ({
  ...whole,
  check: (name, passes) => whole.check(`${part} ${name}`, passes),
});

export function createReadiness(): Readiness {
  const checks = new Map<string, () => boolean | Promise<boolean>>();
  const watchers = new Set<ReadinessWatcher>();
  let phase: 'starting' | 'serving' | 'stopping' = 'starting';
  let timer: NodeJS.Timeout | undefined;
  let onUnwatched: (() => void) | undefined;
  /** The report for watchers. A slow check does not delay their next report. */
  let latest = STARTING;
  let reading: Promise<void> | undefined;

  const report = async (): Promise<ReadinessReport> => {
    if (phase !== 'serving') return phase === 'starting' ? STARTING : STOPPING;
    const failed = await Promise.all(
      [...checks].map(async ([name, passes]) => ((await settles(passes)) ? [] : [name])),
    );
    const missing = failed.flat();
    return { status: missing.length === 0 ? 'ok' : 'unready', missing };
  };
  const read = (): Promise<void> => {
    reading ??= report().then((next) => {
      latest = next;
      reading = undefined;
    });
    return reading;
  };
  const notify = () => {
    for (const watcher of watchers) watcher(phase === 'stopping' ? STOPPING : latest);
  };
  const onTick = () => {
    notify();
    void read();
  };

  return {
    check: (name, passes) => void checks.set(name, passes),
    open: () => {
      phase = 'serving';
      if (watchers.size > 0) void read().then(notify);
    },
    close: async () => {
      phase = 'stopping';
      if (watchers.size === 0) return false;
      const unwatched = new Promise<void>((resolve) => {
        onUnwatched = resolve;
      });
      notify();
      await unwatched;
      return true;
    },
    report,
    watch: (watcher) => {
      watchers.add(watcher);
      void read().then(() => {
        if (watchers.has(watcher)) watcher(phase === 'stopping' ? STOPPING : latest);
      });
      timer ??= setInterval(onTick, READINESS_INTERVAL_MS);
      return () => {
        if (!watchers.delete(watcher) || watchers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
        onUnwatched?.();
      };
    },
  };
}

async function settles(passes: () => boolean | Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([passes(), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
