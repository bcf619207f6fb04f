import { z } from 'zod';
import { readSchema } from './read-schema.ts';

/**
 * Readers of an upstream's members. A server that departs from its protocol must only send the used members correctly: a
 * member of another type counts as absent, and an entry of a list that does not fit is skipped.
 */
export const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

export const maybeText = maybe(z.string());
export const maybeNumber = maybe(z.number());

/** A list without the entries that do not fit; absent if it is not a list. */
export const maybeList = <Schema extends z.ZodType>(entry: Schema) =>
  maybe(z.array(z.unknown()).transform((entries) => fitting(entries, entry)));

/** A required list, without the entries that do not fit. */
export const listOf = <Schema extends z.ZodType>(entry: Schema) =>
  z.array(z.unknown()).transform((entries) => fitting(entries, entry));

function fitting<Schema extends z.ZodType>(entries: readonly unknown[], entry: Schema): z.output<Schema>[] {
  const kept: z.output<Schema>[] = [];
  for (const candidate of entries) {
    const read = readSchema(entry, candidate);
    if (read !== undefined) kept.push(read.data);
  }
  return kept;
}
