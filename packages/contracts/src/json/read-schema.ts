import { z } from 'zod';
import { isObject } from './json-object.ts';

/**
 * Reads JSON by a zod schema like `safeParse`, but copies only what changes. `safeParse` builds every list and object
 * again, which costs as much as parsing the JSON; here a value that satisfies its schema is the result itself, and an
 * object is copied only if members are left out or replaced.
 *
 * The readers are made from the schemas' own definitions (`_zod`, which zod documents for libraries and may change with any release),
 * and the rules (lengths, ranges, `superRefine`) are zod's. A kind of schema without a reader here is read by zod. That is why
 * zod is pinned to exactly one version, and a test says so; the tests beside it compare every schema of the wire with zod.
 *
 * @returns undefined if the value does not satisfy the schema: `safeParse` gives the reason
 */
export function readSchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly data: z.output<Schema> } | undefined {
  const data = readerOf(schema)(value);
  return isOutputOf(schema, data) ? { data } : undefined;
}

/** A reader's result for a value that does not satisfy its schema. */
const UNFIT = Symbol('unfit');

type Reader = (value: unknown) => unknown;
type Schema = z.core.$ZodType;

/** Whether the reader of this schema has accepted the data. */
const isOutputOf = <Of extends z.ZodType>(_schema: Of, data: unknown): data is z.output<Of> => data !== UNFIT;

const readers = new WeakMap<Schema, Reader>();

function readerOf(schema: Schema): Reader {
  const known = readers.get(schema);
  if (known !== undefined) return known;
  // A schema that contains itself uses this reader for its inner values.
  readers.set(schema, byZod(schema));
  const reader = withRules(schema, kindReader(schema));
  readers.set(schema, reader);
  return reader;
}

function byZod(schema: Schema): Reader {
  return (value) => {
    const result = z.core.safeParse(schema, value);
    return result.success ? result.data : UNFIT;
  };
}

/** Null for kinds that are left to zod. */
function kindReader(schema: Schema): Reader | null {
  const { core } = z;
  if (schema instanceof core.$ZodUnknown) return (value) => value;
  if (schema instanceof core.$ZodString) return schema._zod.def.coerce ? null : only(isString);
  if (schema instanceof core.$ZodNumber) return schema._zod.def.coerce ? null : only(Number.isFinite);
  if (schema instanceof core.$ZodBoolean) return schema._zod.def.coerce ? null : only(isBoolean);
  if (schema instanceof core.$ZodEnum || schema instanceof core.$ZodLiteral) return oneOf(schema._zod.values);
  if (schema instanceof core.$ZodExactOptional) return null;
  if (schema instanceof core.$ZodOptional) return optional(schema);
  if (schema instanceof core.$ZodNullable) return unless(null, readerOf(schema._zod.def.innerType));
  if (schema instanceof core.$ZodCatch) return caught(schema);
  if (schema instanceof core.$ZodArray) return list(readerOf(schema._zod.def.element));
  if (schema instanceof core.$ZodObject) return object(schema);
  if (schema instanceof core.$ZodRecord) return record(schema);
  if (schema instanceof core.$ZodDiscriminatedUnion) return discriminated(schema);
  if (schema instanceof core.$ZodXor) return null;
  if (schema instanceof core.$ZodUnion) return union(schema._zod.def.options.map(readerOf));
  return schema instanceof core.$ZodPipe && !(schema instanceof core.$ZodCodec) ? pipe(schema) : null;
}

/** zod's own checks of a schema, on what its kind has read. */
function withRules(schema: Schema, read: Reader | null): Reader {
  if (read === null) return byZod(schema);
  const rules: z.core.$ZodCheck[] = [...(schema._zod.def.checks ?? [])];
  if (schema instanceof z.core.$ZodCheck) rules.unshift(schema);
  return rules.length === 0 ? read : (value) => followed(rules, read(value));
}

/** A schema's rules take what its kind has read; its type is not known here. */
const isOfKind = (data: unknown): data is never => data !== UNFIT;

function followed(rules: readonly z.core.$ZodCheck<never>[], data: unknown): unknown {
  if (!isOfKind(data)) return UNFIT;
  const payload: z.core.ParsePayload<never> = { value: data, issues: [] };
  for (const { _zod: rule } of rules) {
    if (rule.def.when?.(payload) === false) continue;
    if (rule.check(payload) instanceof Promise) throw new z.core.$ZodAsyncError();
    if (payload.issues.length > 0) return UNFIT;
  }
  const { value } = payload;
  // A `superRefine` gives its payload a function that holds it. V8 keeps that, and half of all bodies with it, from early
  // garbage collection.
  Object.assign(payload, { value: undefined });
  return value;
}

const isString = (value: unknown): boolean => typeof value === 'string';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';

type Members = Readonly<Record<string, unknown>>;
const only =
  (fits: (value: unknown) => boolean): Reader =>
  (value) =>
    fits(value) ? value : UNFIT;

const oneOf = (values: ReadonlySet<unknown>): Reader => only((value) => values.has(value));

const unless =
  (passed: unknown, read: Reader): Reader =>
  (value) =>
    value === passed ? value : read(value);

const optional = ({ _zod: { def } }: z.core.$ZodOptional): Reader | null =>
  def.innerType._zod.optin === 'defaulted' ? null : unless(undefined, readerOf(def.innerType));

function caught(schema: z.core.$ZodCatch): Reader {
  const { innerType, catchValue } = schema._zod.def;
  const read = readerOf(innerType);
  const instead = byZod(schema);
  // A value that does not depend on what failed: zod need not list its issues for it.
  const constant = isConstant(catchValue) ? catchValue : null;
  return (value) => {
    const data = read(value);
    if (data !== UNFIT) return data;
    return constant === null ? instead(value) : constant();
  };
}

const isConstant = (catchValue: (...context: never[]) => unknown): catchValue is () => unknown =>
  catchValue.length === 0;

function list(read: Reader): Reader {
  return (value) => {
    if (!Array.isArray(value)) return UNFIT;
    let copy: unknown[] | null = null;
    for (let index = 0; index < value.length; index += 1) {
      const data = read(value[index]);
      if (data === UNFIT) return UNFIT;
      if (data === value[index]) continue;
      copy ??= [...value];
      copy[index] = data;
    }
    return copy ?? value;
  };
}

/** zod leaves this member out everywhere, so zod reads an object with it. */
const hasProto = (value: Members): boolean => Object.hasOwn(value, '__proto__');

interface Member {
  readonly name: string;
  readonly read: Reader;
  readonly mayBeAbsent: boolean;
}

/** The handling of members that an object's schema does not name. */
const EXTRAS = new Map<unknown, 'left out' | 'kept' | 'refused'>([
  [undefined, 'left out'],
  ['unknown', 'kept'],
  ['never', 'refused'],
]);

function object(schema: z.core.$ZodObject): Reader | null {
  const { shape, catchall } = schema._zod.def;
  const extras = EXTRAS.get(catchall?._zod.def.type);
  if (extras === undefined) return null;
  const members = Object.entries(shape).map(([name, member]): Member => {
    const { optin, optout } = member._zod;
    return { name, read: readerOf(member), mayBeAbsent: optin === 'optional' && optout === 'optional' };
  });
  const names = new Set(Object.keys(shape));
  const instead = byZod(schema);
  return (value) => {
    if (!isObject(value)) return UNFIT;
    if (hasProto(value)) return instead(value);
    let copy: Record<string, unknown> | null = null;
    for (const { name, read, mayBeAbsent } of members) {
      const given = value[name];
      if (given === undefined && !(name in value)) {
        if (mayBeAbsent) continue;
        return instead(value);
      }
      const data = read(given);
      if (data === UNFIT) return UNFIT;
      if (data === given) continue;
      copy ??= { ...value };
      copy[name] = data;
    }
    if (extras === 'kept' || !hasOthers(value, names)) return copy ?? value;
    return extras === 'refused' ? UNFIT : withoutOthers(copy ?? value, names);
  };
}

function hasOthers(value: Members, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return true;
  return false;
}

function withoutOthers(value: Members, names: ReadonlySet<string>): Members {
  const kept: Record<string, unknown> = {};
  for (const name of names) if (name in value) kept[name] = value[name];
  return kept;
}

function record(schema: z.core.$ZodRecord): Reader | null {
  const { keyType, valueType, mode } = schema._zod.def;
  const hasPlainKeys = keyType instanceof z.core.$ZodString && keyType._zod.run === keyType._zod.parse;
  if (!hasPlainKeys || mode === 'loose') return null;
  const read = readerOf(valueType);
  const instead = byZod(schema);
  return (value) => {
    if (!isObject(value)) return UNFIT;
    if (hasProto(value) || !z.core.util.isPlainObject(value)) return instead(value);
    let copy: Record<string, unknown> | null = null;
    for (const name in value) {
      const data = read(value[name]);
      if (data === UNFIT) return UNFIT;
      if (data === value[name]) continue;
      copy ??= { ...value };
      copy[name] = data;
    }
    return copy ?? value;
  };
}

/** The first option that fits. */
function union(options: readonly Reader[]): Reader {
  return (value) => {
    for (const read of options) {
      const data = read(value);
      if (data !== UNFIT) return data;
    }
    return UNFIT;
  };
}

function discriminated(schema: z.core.$ZodDiscriminatedUnion): Reader | null {
  const { options, discriminator, unionFallback } = schema._zod.def;
  if (unionFallback) return null;
  const byValue = new Map<unknown, Reader>();
  for (const option of options) {
    const read = readerOf(option);
    for (const value of option._zod.propValues?.[discriminator] ?? []) {
      byValue.set(value, byValue.has(value) ? () => UNFIT : read);
    }
  }
  return (value) => {
    if (!isObject(value)) return UNFIT;
    const read = byValue.get(value[discriminator]);
    return read === undefined ? UNFIT : read(value);
  };
}

function pipe({ _zod: { def } }: z.core.$ZodPipe): Reader {
  const first = readerOf(def.in);
  const then = readerOf(def.out);
  return (value) => {
    const data = first(value);
    return data === UNFIT ? UNFIT : then(data);
  };
}
