import { z } from 'zod';
import { HookFailure, PASSED } from '../check.ts';
import type { HookAdapter } from './kinds.ts';
import { readAnswer } from './read-answer.ts';

const Answer = z.object({
  results: z.array(
    z.object({ flagged: z.boolean(), categories: z.record(z.string(), z.boolean().nullable()) }),
  ),
});

/** OpenAI's moderations: a text that is flagged blocks. */
export const moderation: HookAdapter = {
  request: ({ texts }, _request, { model }) => ({ model, input: texts }),
  verdict: (answer, { texts }) => {
    const { results } = readAnswer(Answer, answer);
    if (results.length !== texts.length)
      throw new HookFailure(`it returns ${results.length} results for ${texts.length} texts`);
    const flagged = results.filter((result) => result.flagged);
    if (flagged.length === 0) return PASSED;
    const names = flagged.flatMap(({ categories }) =>
      Object.entries(categories).flatMap(([name, applies]) => (applies ? [name] : [])),
    );
    return { kind: 'blocked', reason: [...new Set(names)].join(', ') || null };
  },
};
