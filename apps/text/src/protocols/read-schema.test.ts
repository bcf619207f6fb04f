import { readdirSync, readFileSync } from 'node:fs';
import { CountTokensRequest, MessagesRequest } from '@gateway/contracts/anthropic/messages';
import * as messagesWire from '@gateway/contracts/anthropic/messages-wire';
import { readSchema } from '@gateway/contracts/json/read-schema';
import { ChatCompletionsRequest } from '@gateway/contracts/openai/chat';
import * as chatWire from '@gateway/contracts/openai/chat-wire';
import { ResponsesRequest } from '@gateway/contracts/openai/responses';
import * as responsesWire from '@gateway/contracts/openai/responses-wire';
import { isLongRun } from '@gateway/testkit/is-long-run';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseObject } from '../wire/json-object.ts';

const isSchema = (value: unknown): value is z.ZodType => value instanceof z.ZodType;

/** Every schema of the wire, also those that tables hold by their `type`. */
const SCHEMAS: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries({
    ...messagesWire,
    ...chatWire,
    ...responsesWire,
    MessagesRequest,
    CountTokensRequest,
    ChatCompletionsRequest,
    ResponsesRequest,
  }).flatMap(([name, value]): [string, z.ZodType][] =>
    isSchema(value)
      ? [[name, value]]
      : Object.entries(value).flatMap(([member, inner]): [string, z.ZodType][] =>
          isSchema(inner) ? [[`${name}.${member}`, inner]] : [],
        ),
  ),
);

/** Requests, replies and the events of streams, as they were recorded. */
const FIXTURES: readonly unknown[] = (['requests', 'replies', 'streams'] as const).flatMap((folder) =>
  readdirSync(new URL(`fixtures/${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' }).flatMap(
    (name) => {
      const read = () => readFileSync(new URL(`fixtures/${folder}/${name}`, import.meta.url), 'utf8');
      if (name.endsWith('.json')) return [JSON.parse(read())];
      return name.endsWith('.sse') ? eventsOf(read()) : [];
    },
  ),
);

function eventsOf(stream: string): unknown[] {
  return stream.split('\n').flatMap((line) => {
    const event = line.startsWith('data: ') ? parseObject(line.slice('data: '.length)) : null;
    return event === null ? [] : [event];
  });
}

/** Fixtures and everything inside them: the schemas of parts meet the parts. */
const PARTS: readonly unknown[] = (() => {
  const seen = new Map<string, unknown>();
  const add = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    seen.set(JSON.stringify(value), value);
    for (const inner of Object.values(value)) add(inner);
  };
  FIXTURES.forEach(add);
  return [...seen.values()];
})();

const SEPARATE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  '',
  'text',
  'function',
  'user',
  [],
  {},
  [{}],
  [null],
];

function expectAgreement(name: string, schema: z.ZodType, value: unknown): void {
  const before = JSON.stringify(value);
  const read = readSchema(schema, value);
  const parsed = schema.safeParse(value);
  expect(read, `${name} reads ${before}`).toStrictEqual(parsed.success ? { data: parsed.data } : undefined);
  expect(JSON.stringify(value), 'what was read is not changed').toBe(before);
}

describe('reading by a schema agrees with zod', () => {
  test('there are schemas and fixtures', () => {
    expect(SCHEMAS.size).toBeGreaterThan(40);
    expect(PARTS.length).toBeGreaterThan(1000);
  });

  test.for([...SCHEMAS])('on every part of every fixture: %s', ([name, schema]) => {
    for (const part of [...PARTS, ...SEPARATE]) expectAgreement(name, schema, part);
  });

  test.for([...SCHEMAS])('on fixtures that were changed at any path: %s', ([name, schema]) => {
    const fitting = PARTS.filter((part) => schema.safeParse(part).success);
    fc.assert(
      fc.property(fc.constantFrom(...fitting, {}), fc.infiniteStream(fc.nat()), (part, choices) => {
        expectAgreement(name, schema, mutated(part, choices));
      }),
      { numRuns: isLongRun ? 100 : 30 },
    );
  });

  test('on members that JSON can have and objects should not', () => {
    const body = JSON.parse('{"__proto__":{"model":"x"},"constructor":1,"model":"m","input":"hi"}');
    expectAgreement('ResponsesRequest', ResponsesRequest, body);
    expectAgreement('record', z.record(z.string(), z.unknown()), body);
    expectAgreement('ResponsesRequestWire', responsesWire.ResponsesRequestWire, body);
  });
});

/** The value with one thing changed somewhere: replaced, left out or added. */
function mutated(value: unknown, choices: Iterator<number>): unknown {
  const next = (below: number): number => (choices.next().value ?? 0) % below;
  if (typeof value !== 'object' || value === null || next(6) === 0) return SEPARATE[next(SEPARATE.length)];
  if (Array.isArray(value)) {
    if (value.length === 0 || next(6) === 0) return [...value, SEPARATE[next(SEPARATE.length)]];
    const at = next(value.length);
    return value.with(at, mutated(value[at], choices));
  }
  const names = Object.keys(value);
  const name = names[next(names.length || 1)];
  if (name === undefined || next(6) === 0) return { ...value, added: 1 };
  const { [name]: member, ...rest } = Object.fromEntries(Object.entries(value));
  return next(4) === 0 ? rest : { ...rest, [name]: mutated(member, choices) };
}

describe('reading by a schema', () => {
  /** The release whose definitions were read when the readers were written. With another one: run these tests, look at its changes, then name it here. */
  const WRITTEN_FOR = '4.6.7';

  test('meets exactly the release of zod that it was written for, pinned for everybody who installs', () => {
    const { major, minor, patch } = z.core.version;
    expect([major, minor, patch].join('.')).toBe(WRITTEN_FOR);
    const catalog = readFileSync(new URL('../../../../pnpm-workspace.yaml', import.meta.url), 'utf8');
    expect(/^ {2}zod: (.*)$/m.exec(catalog)?.[1]).toBe(WRITTEN_FOR);
  });

  test('makes no copy of what satisfies it', () => {
    const body = {
      model: 'm',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      tools: [{ type: 'x' }],
    };
    expect(readSchema(ResponsesRequest, body)?.data).toBe(body);
  });

  test('refuses to wait for a rule, as zod does', () => {
    const schema = z.object({ a: z.string() }).refine(async () => false);
    expect(() => schema.safeParse({ a: 'x' })).toThrow(z.core.$ZodAsyncError);
    expect(() => readSchema(schema, { a: 'x' })).toThrow(z.core.$ZodAsyncError);
  });

  const inner = z.object({ a: z.string() });
  test.for<[string, z.ZodType]>([
    ['default', z.object({ a: z.string().default('x') })],
    ['prefault', z.object({ a: z.string().prefault('x') })],
    ['exact optional', z.object({ a: z.exactOptional(z.string()) })],
    ['coercion', z.object({ a: z.coerce.string() })],
    ['coerced number', z.object({ a: z.coerce.number() })],
    ['trim', z.object({ a: z.string().trim().min(1) })],
    ['format', z.object({ a: z.email() })],
    ['refinement', z.object({ a: z.string() }).refine(({ a }) => a !== 'x')],
    [
      'refinement of what may be null',
      z.object({
        a: z
          .string()
          .nullable()
          .refine((a) => a !== null),
      }),
    ],
    ['strict', z.strictObject({ a: z.string().optional() })],
    ['catchall', z.object({ a: z.string() }).catchall(z.number())],
    ['first option of a union', z.union([inner, z.object({ a: z.string(), b: z.number() })])],
    ['xor', z.xor([inner, z.object({ b: z.number() })])],
    ['intersection', z.intersection(inner, z.looseObject({ b: z.number() }))],
    ['tuple', z.object({ a: z.tuple([z.string()]) })],
    ['transform', z.object({ a: z.string().transform((a) => a.length) })],
    ['preprocess', z.object({ a: z.preprocess(String, z.string()) })],
    ['pipe', z.object({ a: z.string().pipe(z.coerce.number()) })],
    ['caught', z.object({ a: z.string().catch('x') })],
    ['caught by what failed', z.object({ a: z.string().catch(({ value }) => String(value)) })],
    ['record of enum keys', z.object({ a: z.record(z.enum(['x', 'y']), z.number()) })],
    ['partial record', z.object({ a: z.partialRecord(z.enum(['x', 'y']), z.number()) })],
    ['record of coerced values', z.record(z.string(), z.coerce.string())],
    ['lazy', z.lazy(() => inner)],
    ['read-only', z.readonly(inner)],
    ['never', z.object({ a: z.never().optional() })],
    ['null', z.object({ a: z.null() })],
    [
      'nullable discriminator',
      z.discriminatedUnion('a', [
        inner.extend({ a: z.literal('x') }),
        z.object({ a: z.null(), b: z.number() }),
      ]),
    ],
  ])('agrees with zod on the kind: %s', ([name, schema]) => {
    const members = [
      ...SEPARATE,
      'x',
      'y',
      ' x ',
      'a@example.com',
      ['x'],
      { x: 1 },
      { x: 1, y: 2 },
      { z: 1 },
      undefined,
    ];
    for (const a of members) {
      for (const rest of [{}, { b: 1 }, { b: 'x' }]) expectAgreement(name, schema, { a, ...rest });
    }
    for (const value of [...SEPARATE, { b: 1 }, undefined]) expectAgreement(name, schema, value);
  });
});
