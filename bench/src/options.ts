import { parseArgs } from 'node:util';
import type { Row } from './rows.ts';

export interface Options {
  /** Empty: all. */
  readonly only: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly streams: number;
}

export const USAGE = (rows: readonly Pick<Row, 'id' | 'what'>[]): string =>
  [
    'npm run bench -- [--only ROW]… [--rounds 3] [--seconds 5] [--streams 500]',
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
      },
    });
    const [rounds, seconds, streams] = [values.rounds, values.seconds, values.streams].map(Number);
    const numbers = { rounds: rounds ?? 0, seconds: seconds ?? 0, streams: streams ?? 0 };
    if (!values.only.every((id) => rowIds.includes(id))) return null;
    if (!Object.values(numbers).every((value) => Number.isInteger(value) && value > 0)) return null;
    return { only: values.only, ...numbers };
  } catch {
    return null;
  }
}
