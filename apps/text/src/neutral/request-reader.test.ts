import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { formatPath } from '../wire/path.ts';
import { RequestReader } from './request-reader.ts';

const Schema = z.object({
  name: z.string(),
  choice: z.union([z.string(), z.object({ type: z.literal('one'), at: z.number().optional() })]).nullish(),
  parts: z
    .array(z.discriminatedUnion('type', [z.object({ type: z.literal('text'), text: z.string() })]))
    .nullish(),
  later: z.array(z.looseObject({ type: z.string() })).nullish(),
  free: z.record(z.string(), z.unknown()).nullish(),
});

const droppedOf = (value: unknown): string[] => {
  const reader = new RequestReader('chat');
  reader.read(Schema, value, ['at', 0]);
  return reader.list.map(({ path, loss, reason }) => `${loss} ${formatPath(path)}: ${reason}`);
};

test('members that a schema does not name are reported by their path, at any depth', () => {
  const why = 'known to the chat protocol only';
  expect(
    droppedOf({
      name: 'n',
      extra: { deep: { deeper: 1 } },
      choice: { type: 'one', extra: false },
      parts: [
        { type: 'text', text: 't' },
        { type: 'text', text: 't', extra: 0 },
      ],
    }),
  ).toEqual([`D at[0].extra: ${why}`, `D at[0].choice.extra: ${why}`, `D at[0].parts[1].extra: ${why}`]);
});

test('what is read later, free content, null and an empty list are no losses', () => {
  expect(
    droppedOf({
      name: 'n',
      nothing: null,
      empty: [],
      choice: null,
      later: [{ type: 't', extra: 1 }],
      free: { any: { thing: [1, { more: 2 }] } },
    }),
  ).toEqual([]);
});

test("a member named like one of JavaScript's own is reported like any other", () => {
  const paths = droppedOf(
    JSON.parse('{"name":"n","__proto__":{"a":1},"constructor":1,"free":{"__proto__":1}}'),
  );
  expect(paths.map((line) => line.replace(/:.*/, ''))).toEqual([
    'D at[0].__proto__',
    'D at[0].constructor',
    'D at[0].free.__proto__',
  ]);
});

test('a body of nothing but unknown members is reported within bounds', () => {
  const members = Array.from({ length: 20_000 }, (_, index) => [`x${index}`, 1] as const);
  expect(droppedOf({ name: 'n', ...Object.fromEntries(members) })).toHaveLength(1000);
});

test('an error of a part names what is wrong, and its path', () => {
  const read = () =>
    new RequestReader('chat').read(Schema, { name: 'n', parts: [{ type: 'sound' }] }, ['at', 0]);
  expect(read).toThrow(GatewayError);
  expect(read).toThrow(
    expect.objectContaining({
      message: expect.stringContaining("'sound'"),
      options: expect.objectContaining({ path: ['at', 0, 'parts', 0, 'type'] }),
    }),
  );
});
