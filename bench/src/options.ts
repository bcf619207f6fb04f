import { parseArgs } from 'node:util';
import type { Row } from './row.ts';

export interface Options {
  /** Empty: all. */
  readonly only: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly streams: number;
  /** Requests to each contender that are sent first and not counted. */
  readonly warmUp: number;
}

export const USAGE = (rows: readonly Pick<Row, 'id' | 'what'>[]): string =>
  [
    'npm run bench -- [--only ROW]… [--rounds 3] [--seconds 5] [--streams 500] [--warm-up 25000]',
    '',
    'A row that is held against another one (a translated request against one that passes) needs both: --only small --only translated.',
    '',
    'Rows:',
    ...rows.map(({ id, what }) => `  ${id.padEnd(18)}${what}`),
  ].join('\n');

/** Null for what cannot be understood, and where help is asked for. */
export function readOptions(args: readonly string[], rowIds: readonly string[]): Options | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '5' },
        streams: { type: 'string', default: '500' },
        'warm-up': { type: 'string', default: '25000' },
      },
    });
    const numbers = {
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
      streams: Number(values.streams),
      warmUp: Number(values['warm-up']),
    };
    if (!values.only.every((id) => rowIds.includes(id))) return null;
    if (!Object.values(numbers).every((value) => Number.isInteger(value) && value > 0)) return null;
    return { only: values.only, ...numbers };
  } catch {
    return null;
  }
}
