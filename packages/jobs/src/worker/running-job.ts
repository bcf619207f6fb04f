import { GatewayError } from '@gateway/contracts/gateway-error';

/** The reason for stopping when the process must end. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping';
  constructor() {
    super('The worker is stopping.');
  }
}

/** How long a stopped job may take to end by itself. One that ignores its signal is left alone after that. */
export const CLOSE_GRACE_MS = 2000;

interface StoppableOptions {
  readonly stopper: AbortController;
  readonly timeLimitMs: number;
  /** How long it may take to end when it has been stopped, but for the end of the process. Default: `CLOSE_GRACE_MS`. */
  readonly graceMs?: number | undefined;
}

/**
 * Runs an attempt until it ends, or until it has been stopped and has not ended soon after. What it still returns after
 * it was stopped counts: a result is never thrown away.
 */
export async function runStoppable<Output>(
  run: (signal: AbortSignal) => Promise<Output>,
  { stopper, timeLimitMs, graceMs = CLOSE_GRACE_MS }: StoppableOptions,
): Promise<Output> {
  const { signal } = stopper;
  const limit = setTimeout(() => stopper.abort(ranTooLong(timeLimitMs)), timeLimitMs);
  let lastWords: NodeJS.Timeout | undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        const ms = signal.reason instanceof WorkerStopping ? CLOSE_GRACE_MS : graceMs;
        lastWords = setTimeout(() => reject(signal.reason), ms);
      },
      { once: true },
    );
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([run(signal), stopped]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(limit);
    clearTimeout(lastWords);
  }
}

const ranTooLong = (timeLimitMs: number): GatewayError =>
  new GatewayError('upstream_timeout', {
    message: `The work was not done within ${Math.round(timeLimitMs / 1000)} s and was abandoned.`,
    retry: false,
  });
