import * as z from 'zod/mini';
import type { PlaygroundSearch } from '../playground-search.ts';
import { jsonOf, type TextSettings } from './protocol.ts';

const Member = z.record(z.string(), z.unknown());
const Tools = z.array(Member);

interface Written {
  readonly system: string;
  readonly tools: string;
  readonly schema: string;
}

/** What the person has set, or a sentence on what is wrong with it. */
export function readSettings(
  { maxOutputTokens, temperature, effort }: PlaygroundSearch,
  { system, tools, schema }: Written,
): { settings: TextSettings } | { mistake: string } {
  const readTools = Tools.safeParse(tools.trim() === '' ? [] : jsonOf(tools));
  if (!readTools.success) return { mistake: 'The tools are no list of objects in JSON.' };
  const readSchema = z.optional(Member).safeParse(schema.trim() === '' ? undefined : jsonOf(schema));
  if (!readSchema.success) return { mistake: 'The schema of the answer is no object in JSON.' };
  return {
    settings: {
      system: system.trim(),
      maxOutputTokens,
      temperature,
      effort,
      tools: readTools.data,
      schema: readSchema.data,
    },
  };
}
