import fc from 'fast-check';

/** Changes of a JSON text that keep most of it, so that they come past the first check. */

const STRANGE_STRINGS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  '%00',
  '../../etc/passwd',
  'a'.repeat(5000),
  '\u202e\u0301🏳️‍🌈',
  'data:image/png;base64,AAAA',
  'data:,',
  'file:///etc/passwd',
  'http://169.254.169.254/',
  'http://[::1]:1/',
  '-1',
  'NaN',
  '1e999',
] as const;
const STRANGE_NUMBERS = [0, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, -(2 ** 63), 1e-320] as const;

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

/** A value that stands where another stood. */
export const strangeValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { '': null }) },
  { weight: 4, arbitrary: fc.constantFrom(...STRANGE_STRINGS) },
  { weight: 3, arbitrary: fc.constantFrom(...STRANGE_NUMBERS) },
  { weight: 2, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }).map(nested) },
);

/** One change at the position that `at` picks, counted over all values of the document. */
export const mutation = fc.record({
  at: fc.nat({ max: 200 }),
  kind: fc.constantFrom('replace', 'remove', 'repeat', 'rename', 'insert', 'swap'),
  value: strangeValue,
  other: fc.nat({ max: 200 }),
});
export type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

interface Place {
  readonly holder: unknown[] | Record<string, unknown>;
  readonly key: string;
}

function positionsOf(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Place['holder'];
  return Object.entries(value).flatMap(([key, inner]) => [{ holder, key }, ...positionsOf(inner)]);
}

const valueAt = ({ holder, key }: Place): unknown => Reflect.get(holder, key);

/** Defines the member, so that one called `__proto__` is one. */
function put(holder: Place['holder'], key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

const CHANGES: Readonly<
  Record<Mutation['kind'], (position: Place, mutation: Mutation, other: Place) => void>
> = {
  replace: ({ holder, key }, { value }) => put(holder, key, value),
  remove: ({ holder, key }) =>
    void (Array.isArray(holder) ? holder.splice(Number(key), 1) : delete holder[key]),
  repeat: (position) => {
    const { holder } = position;
    if (Array.isArray(holder)) holder.push(structuredClone(valueAt(position)));
    else put(holder, `${position.key}_`, structuredClone(valueAt(position)));
  },
  rename: (position, { value }) => {
    const { holder, key } = position;
    if (Array.isArray(holder)) return;
    const inner = valueAt(position);
    delete holder[key];
    put(holder, String(value), inner);
  },
  insert: ({ holder }, { value, other }) => {
    if (Array.isArray(holder)) holder.splice(other, 0, value);
    else put(holder, STRANGE_STRINGS[other % STRANGE_STRINGS.length] ?? '', value);
  },
  swap: (position, _, other) => {
    const inner = structuredClone(valueAt(position));
    put(position.holder, position.key, structuredClone(valueAt(other)));
    put(other.holder, other.key, inner);
  },
};

/** The document with all changes. */
export function mutated(document: unknown, mutations: readonly Mutation[]): unknown {
  const copy: unknown = structuredClone(document);
  for (const one of mutations) {
    const positions = positionsOf(copy);
    const position = positions[one.at % Math.max(1, positions.length)];
    const other = positions[one.other % Math.max(1, positions.length)];
    if (position !== undefined && other !== undefined) CHANGES[one.kind](position, one, other);
  }
  return copy;
}

/** One change of bytes. */
export const byteMutation = fc.record({
  at: fc.nat({ max: 100_000 }),
  kind: fc.constantFrom('cut', 'flip', 'insert', 'repeat', 'remove'),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 8 }),
    fc.constantFrom(
      ...['\r\n', '\n\n', '\0', '"', '{', '}', '[', '\ufeff', ':', ',', '--b', 'data: '].map((text) =>
        Buffer.from(text),
      ),
    ),
  ),
});
export type ByteMutation = typeof byteMutation extends fc.Arbitrary<infer T> ? T : never;

/** How many bytes are repeated or removed. */
const PIECE = 7;

type ByteChange = (before: Buffer, after: Buffer, given: Uint8Array) => Buffer;
const BYTE_CHANGES: Readonly<Record<ByteMutation['kind'], ByteChange>> = {
  cut: (before) => before,
  flip: (before, after, given) =>
    Buffer.concat([before, after.subarray(0, 1).map((byte) => byte ^ (given[0] ?? 1)), after.subarray(1)]),
  insert: (before, after, given) => Buffer.concat([before, given, after]),
  repeat: (before, after) => Buffer.concat([before, after.subarray(0, PIECE), after]),
  remove: (before, after) => Buffer.concat([before, after.subarray(PIECE)]),
};

export function mutatedBytes(whole: Buffer, mutations: readonly ByteMutation[]): Buffer {
  return mutations.reduce((bytes, { at, kind, bytes: given }) => {
    const position = at % (bytes.length + 1);
    return BYTE_CHANGES[kind](bytes.subarray(0, position), bytes.subarray(position), given);
  }, whole);
}
