import pino, { type Logger } from 'pino';
import { gatherLines } from './gather-lines.ts';
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

/**
 * The process's one logger, for which each part of the process makes a child with its own `service`. Lines leave in batches
 * (at the latest after 100 ms) because a write per request costs more than the line; `flush` hands over what is still held and
 * is called when the process ends.
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
    : gatherLines(1);
  return pino({ level, base: null, timestamp: createTimestamp(), serializers: { err: shownError } }, stream);
}

/**
 * What is logged of an error. Other members are left out: a Redis client's have the command with its arguments, and so passwords
 * and usage; those of providers' libraries have whole requests.
 */
export function shownError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return { type, message, stack, ...code };
}

/**
 * Writes the very lines that `logger[level]({ ...parts[0], ...parts[1] })` writes, by `JSON.stringify`: pino puts a line together field by
 * field, which takes twice the time and five times the memory. The parts have no field in common, and the first has one at least: an
 * object of all fields would be a dictionary to V8, of some 8 KB for each line.
 */
export function createLineWriter(
  logger: Logger,
): (level: 'info' | 'error', ...parts: readonly LogFields[]) => void {
  return (level, ...parts) => {
    if (!logger.isLevelEnabled(level)) return;
    let line = `{"level":${logger.levels.values[level]}${logger[pino.symbols.timeSym]()}${logger[pino.symbols.chindingsSym]}`;
    for (const part of parts) {
      const json = JSON.stringify(part);
      if (json !== '{}') line += `,${json.slice(1, -1)}`;
    }
    logger[pino.symbols.streamSym].write(`${line}}\n`);
  };
}

/** The time as a member, after a comma. Lines of the same millisecond share their text. */
function createTimestamp(): () => string {
  let atMs = 0;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== atMs) {
      atMs = nowMs;
      text = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return text;
  };
}
