import { z } from 'zod';
import type { ErrorCode } from './error-codes.ts';
import { readSchema } from './json/read-schema.ts';

/** The mark of a range check on a decimal in its issue, since messages name "decimal" or "integer". */
export const DECIMAL = 'decimal';

/** `z.int({ error: INTEGER })`: the mark for messages to name "integer" also for a value that is not a number. */
export const INTEGER = 'integer';

/** A number in a closed range, called a decimal in messages. Use `z.int()` for whole numbers. */
export const decimal = (min: number, max: number) =>
  z.number().min(min, { error: DECIMAL }).max(max, { error: DECIMAL });

/** The error of a custom rule, beyond zod's built-in checks. */
export interface Problem {
  readonly code: ErrorCode;
  readonly openai: string;
  readonly anthropic: string;
}

/** A zod issue with a `Problem` for the caller. */
export const problem = (path: readonly (string | number)[], params: Problem) => ({
  code: 'custom' as const,
  path: [...path],
  params: { problem: params },
});

/** Length in characters as people count them: code points, not UTF-16 units. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** A string of `min` to `max` characters, counted in code points. */
export const characters = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .superRefine((text, context) => {
      if (text.length <= max) return;
      const count = characterCount(text);
      if (count <= max) return;
      context.addIssue(
        problem([], {
          code: 'string_above_max_length',
          openai: `string too long. Expected a string with maximum length ${max}, but got a string with length ${count} instead.`,
          anthropic: `String should have at most ${max} characters`,
        }),
      );
    });

/** Checks a part of a request against its own schema, and reports mistakes under that part's path. */
export function nested(
  schema: z.ZodType,
  path: readonly (string | number)[],
  value: unknown,
  context: z.RefinementCtx,
): void {
  if (readSchema(schema, value) !== undefined) return;
  for (const issue of schema.safeParse(value).error?.issues ?? [])
    context.addIssue({ ...issue, path: [...path, ...issue.path] });
}
