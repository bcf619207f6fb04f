import { isObject } from '@gateway/contracts/json/json-object';
import { z } from 'zod';

/** A value changed by a JSON Merge Patch: objects are merged, null removes a member, anything else replaces. RFC 7396. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** For the description of a merge patch: each member may be left out, or be null, which removes it. */
export const removable = (shape: Readonly<Record<string, z.ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, member.nullish()]));

/** Limits in a merge patch. */
export const nullableLimits = ({ models: _, ...shape }: Readonly<Record<string, z.ZodType>>) =>
  z.strictObject({
    ...removable(shape),
    models: z.record(z.string(), z.record(z.string(), z.int().nullable()).nullable()).nullish(),
  });
