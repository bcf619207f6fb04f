/** How long a goodbye may take once nothing is left to be done. */
export const GOODBYE_MS = 1000;

/** Waits for BullMQ to close, but not for ever: it would wait so for a Redis that is away to take leave of it. */
export async function closeInTime(closing: Promise<unknown>, timeLimitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeLimitMs);
  });
  try {
    await Promise.race([closing, late]);
  } finally {
    clearTimeout(timer);
    closing.catch(() => undefined);
  }
}
