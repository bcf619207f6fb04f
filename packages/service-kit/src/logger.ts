import pino, { type Logger } from 'pino';
import type { LogFields } from './request/request-context.ts';

export type { Logger } from 'pino';

/** Of what pino keeps at a logger under its public symbols. */
declare module 'pino' {
  interface BaseLogger {
    readonly [pino.symbols.streamSym]: DestinationStream;
    /** The time as a member, after a comma. */
    readonly [pino.symbols.timeSym]: () => string;
    /** The members of the logger itself, after a comma. */
    readonly [pino.symbols.chindingsSym]: string;
  }
}

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

/**
 * Writes, of at least one field, the very lines that `logger[level](fields)` writes, by `JSON.stringify`: pino puts a line together field by field,
 * which takes twice the time and five times the memory.
 */
export function createLineWriter(logger: Logger): (level: 'info' | 'error', fields: LogFields) => void {
  return (level, fields) => {
    if (!logger.isLevelEnabled(level)) return;
    const begin = `{"level":${logger.levels.values[level]}${logger[pino.symbols.timeSym]()}${logger[pino.symbols.chindingsSym]}`;
    logger[pino.symbols.streamSym].write(`${begin},${JSON.stringify(fields).slice(1)}\n`);
  };
}
