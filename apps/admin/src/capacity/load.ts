import { parseArgs } from 'node:util';
import { errorMessage } from '@gateway/contracts/error-message';
import { z } from 'zod';

const LoadFlag = z.enum([
  'rps',
  'average',
  'streams',
  'events',
  'seconds',
  'body-kb',
  'stored',
  'stored-days',
  'jobs',
  'job-seconds',
  'result-kb',
  'keys',
  'record-days',
  'redis-gb',
  'disk-gb',
]);
type LoadFlag = z.infer<typeof LoadFlag>;
const Load = z.record(LoadFlag, z.number());
export type Load = Readonly<z.infer<typeof Load>>;

interface Flag {
  readonly meaning: string;
  /** Null: it must be given. */
  readonly fallback: number | null;
  readonly min: number;
  readonly max: number;
}

/** What is known of a load, by the flags of the command. */
export const LOAD_FLAGS: Readonly<Record<LoadFlag, Flag>> = {
  rps: { meaning: 'requests a second, at the busiest', fallback: null, min: 0.001, max: 1_000_000 },
  average: { meaning: 'of that, the average over days, in percent', fallback: 30, min: 1, max: 100 },
  streams: { meaning: 'requests that are streamed, in percent', fallback: 50, min: 0, max: 100 },
  events: { meaning: 'events of a stream', fallback: 300, min: 1, max: 100_000 },
  seconds: { meaning: 'how long a request lasts at its provider', fallback: 10, min: 0.01, max: 3600 },
  'body-kb': { meaning: 'kilobytes of a request', fallback: 8, min: 0, max: 32_768 },
  stored: { meaning: 'responses that are stored, in percent', fallback: 20, min: 0, max: 100 },
  'stored-days': {
    meaning: 'how long they are stored after their last use',
    fallback: 30,
    min: 1,
    max: 3650,
  },
  jobs: { meaning: 'jobs a second, at the busiest', fallback: 0, min: 0, max: 10_000 },
  'job-seconds': { meaning: 'how long a job lasts at its provider', fallback: 20, min: 0.1, max: 900 },
  'result-kb': { meaning: 'kilobytes of the result of a job', fallback: 1500, min: 0, max: 1_000_000 },
  keys: { meaning: 'keys of callers', fallback: 100, min: 0, max: 10_000_000 },
  'record-days': { meaning: 'USAGE_RECORDS_DAYS', fallback: 90, min: 1, max: 3650 },
  'redis-gb': { meaning: 'gigabytes of memory that Redis may use', fallback: 16, min: 0.01, max: 100_000 },
  'disk-gb': { meaning: "gigabytes of the database's disk", fallback: 500, min: 0.1, max: 10_000_000 },
};

/** A load that cannot be understood, as a sentence. */
export class LoadError extends Error {
  override readonly name = 'LoadError';
}

/** What is to be printed. */
export type CapacityCommand =
  | { readonly show: 'help' }
  | { readonly show: 'costs' }
  | { readonly show: 'table' | 'json'; readonly loads: readonly Load[] };

/** The loads of a table, in requests a second. */
const TABLE_RPS = [10, 100, 1000, 10_000];

/** @throws {LoadError} */
export function readCapacityCommand(argv: readonly string[]): CapacityCommand {
  const { help, costs, json, table, ...rest } = readFlags(argv);
  const texts = Texts.parse(rest);
  if (help) return { show: 'help' };
  if (costs) return { show: 'costs' };
  if (table && texts.rps !== undefined) throw new LoadError('--table has loads of its own: leave out --rps.');
  const loads = table ? TABLE_RPS.map((rps) => readLoad({ ...texts, rps: String(rps) })) : [readLoad(texts)];
  return { show: json ? 'json' : 'table', loads };
}

const Texts = z.partialRecord(LoadFlag, z.string());
type Texts = Readonly<z.infer<typeof Texts>>;

function readFlags(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        ...Object.fromEntries(LoadFlag.options.map((name) => [name, text])),
        table: flag,
        costs: flag,
        json: flag,
        help: { ...flag, short: 'h' },
      },
      strict: true,
    });
    return values;
  } catch (error) {
    throw new LoadError(errorMessage(error));
  }
}

export const readLoad = (texts: Texts): Load =>
  Load.parse(Object.fromEntries(LoadFlag.options.map((name) => [name, numberOf(name, texts)])));

function numberOf(name: LoadFlag, texts: Texts): number {
  const { meaning, fallback, min, max } = LOAD_FLAGS[name];
  const text = texts[name];
  if (text === undefined && fallback !== null) return fallback;
  if (text === undefined) throw new LoadError(`--${name} is missing: ${meaning}, such as --${name} 200.`);
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= min && value <= max))
    throw new LoadError(`--${name} is ${meaning}: a number from ${min} to ${max}, not '${text}'.`);
  return value;
}
