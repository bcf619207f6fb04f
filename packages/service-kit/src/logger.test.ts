import pino from 'pino';
import { expect, test } from 'vitest';
import { createLineWriter, shownError } from './logger.ts';

const FIELDS = {
  text: 'a "quoted" \\ line\nwith \u0000, \u2028, ü, 🙂 and a lone \ud800',
  count: 3,
  share: 0.25,
  notANumber: Number.NaN,
  endless: Number.POSITIVE_INFINITY,
  stream: false,
  nothing: null,
  absent: undefined,
};

test.for([
  ['the bare logger', (root: pino.Logger) => root],
  ['a child', (root: pino.Logger) => root.child({ service: 'text' })],
] as const)('a line of fields has the bytes of pino: %s', ([, loggerOf]) => {
  const lines: string[] = [];
  const timestamp = () => ',"time":"2026-01-01T00:00:00.000Z"';
  const logger = loggerOf(pino({ base: null, timestamp }, { write: (line) => lines.push(line) }));
  for (const level of ['info', 'error'] as const) {
    logger[level](FIELDS);
    createLineWriter(logger)(level, FIELDS);
    const [byPino, byUs] = lines.splice(0);
    expect(byPino).toContain('"count":3');
    expect(byUs).toBe(byPino);
  }
});

test('a line of several parts has the bytes of one object with all their fields', () => {
  const lines: string[] = [];
  const timestamp = () => ',"time":"2026-01-01T00:00:00.000Z"';
  const logger = pino({ base: null, timestamp }, { write: (line) => lines.push(line) });
  const [first, second] = [
    { method: 'POST', absent: undefined },
    { model: 'a "quoted" one', tokens: 3 },
  ];
  logger.info({ ...first, ...second });
  createLineWriter(logger)('info', first, {}, second, { absentToo: undefined });
  expect(lines[1]).toBe(lines[0]);
});

test('a line below the logger’s level is not written', () => {
  const lines: string[] = [];
  const writeLine = createLineWriter(pino({ level: 'error' }, { write: (line) => lines.push(line) }));
  writeLine('info', { kind: 'of no interest' });
  expect(lines).toEqual([]);
  writeLine('error', { kind: 'of interest' });
  expect(lines).toHaveLength(1);
});

test("an error's line has its messages, its code and its stack, and no other member: a client's has the password", () => {
  const cause = Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: ['pa55word'] } });
  const error = Object.assign(new Error('redis is away', { cause }), {
    code: 'ECONNRESET',
    command: cause.command,
  });
  const shown = shownError(error);
  expect(shown).toMatchObject({ type: 'Error', message: 'redis is away: WRONGPASS', code: 'ECONNRESET' });
  expect(JSON.stringify(shown)).not.toContain('pa55word');
});
