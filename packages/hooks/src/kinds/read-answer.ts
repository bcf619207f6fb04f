import type { z } from 'zod';
import { HookFailure } from '../check.ts';

/** The answer of a hook, by the schema of its protocol. @throws {HookFailure} that names what does not fit, without its text */
export function readAnswer<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.infer<Schema> {
  const read = schema.safeParse(answer);
  if (read.success) return read.data;
  const paths = read.error.issues.slice(0, 3).map(({ path }) => path.join('.') || 'the answer');
  throw new HookFailure(`it answers nonsense: ${paths.join(', ')} cannot be read`);
}
