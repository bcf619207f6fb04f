import pino, { type Logger } from 'pino';

export type { Logger } from 'pino';

export interface LoggerOptions {
  readonly level: string;
  /** Lines for a person instead of JSON. */
  readonly pretty: boolean;
}

/** Just below sonic-boom's limit for one write. */
const BATCH_BYTES = 15 * 1024;

/**
 * The process's one logger, for which each part of the process makes a child with its own `service`. Lines leave in batches (at the latest after 100 ms) because a write per request costs
 * more than the line; `flush` hands over what is still held and is called when the process ends.
 */
export async function createLogger({ level, pretty: readable }: LoggerOptions): Promise<Logger> {
  const stream = readable
    ? (await import('pino-pretty')).default({
        colorize: true,
        ignore: 'pid,hostname,service',
        messageFormat: '{service} {msg}',
        singleLine: true,
        sync: true,
      })
    : pino.destination({ dest: 1, sync: false, minLength: BATCH_BYTES, periodicFlush: 100 });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}
