import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

export interface LoggerOptions {
  readonly service: string;
  readonly level: string;
  /** Lines for a person instead of JSON. */
  readonly pretty: boolean;
}

/** Just below what sonic-boom hands over in one write. */
const BATCH_BYTES = 15 * 1024;

/**
 * The process's one logger. Lines leave in batches (at the latest after 100 ms) because a write per request costs
 * more than the line; `flush` hands over what is still held and is called when the process ends.
 */
export function createLogger({ service, level, pretty: readable }: LoggerOptions): Logger {
  const stream = readable
    ? pretty({
        colorize: true,
        ignore: 'pid,hostname,service',
        messageFormat: '{service} {msg}',
        singleLine: true,
        sync: true,
      })
    : pino.destination({ dest: 1, sync: false, minLength: BATCH_BYTES, periodicFlush: 100 });
  return pino({ level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}
