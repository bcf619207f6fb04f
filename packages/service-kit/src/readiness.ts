/** Whether the process can serve: it has started, is not stopping, and each of its checks passes. */
export interface Readiness {
  /** A named condition, such as "redis answers". May throw or resolve to false. */
  check(name: string, passes: () => boolean | Promise<boolean>): void;
  open(): void;
  close(): void;
  /** Names of what is missing; empty when the process can serve. */
  missing(): Promise<string[]>;
}

/** A check that has not answered by then counts as failed. */
const CHECK_TIMEOUT_MS = 2000;

/** The same for one part of a process: its checks bear its name. */
export const readinessOf = (part: string, whole: Readiness): Readiness => ({
  ...whole,
  check: (name, passes) => whole.check(`${part} ${name}`, passes),
});

export function createReadiness(): Readiness {
  const checks = new Map<string, () => boolean | Promise<boolean>>();
  let serving = false;
  return {
    check: (name, passes) => void checks.set(name, passes),
    open: () => {
      serving = true;
    },
    close: () => {
      serving = false;
    },
    missing: async () => {
      if (!serving) return ['serving'];
      const failed = await Promise.all(
        [...checks].map(async ([name, passes]) => ((await settles(passes)) ? [] : [name])),
      );
      return failed.flat();
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
