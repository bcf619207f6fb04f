import { z } from 'zod';

/** Members that may be left out, or be null, which removes them: for the description of a merge patch. */
export const removable = (shape: Readonly<Record<string, z.ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, member.nullish()]));

/** Limits in a merge patch. */
export const nullableLimits = ({ models: _, ...shape }: Readonly<Record<string, z.ZodType>>) =>
  z.strictObject({
    ...removable(shape),
    models: z.record(z.string(), z.record(z.string(), z.int().nullable()).nullable()).nullish(),
  });
