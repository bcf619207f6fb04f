import { z } from 'zod';
import { decimal, INTEGER } from '../wire-types.ts';

const tokens = z.array(z.int().min(0)).min(1);
const count = z.int({ error: INTEGER });

/**
 * `POST /v1/completions`. `null` means absent. Members that are not named here pass unchanged. Bounds are only those of every server:
 * OpenAI's own are narrower.
 */
export const CompletionsRequest = z.looseObject({
  model: z.string().min(1),
  /** A text, its tokens (of the model's own vocabulary), or a list of either: each gets answers of its own. */
  prompt: z.union([z.string(), z.array(z.string()).min(1), tokens, z.array(tokens).min(1)]).nullish(),
  suffix: z.string().nullish(),
  max_tokens: count.nullish(),
  temperature: decimal(0, 2).nullish(),
  top_p: decimal(0, 1).nullish(),
  presence_penalty: decimal(-2, 2).nullish(),
  frequency_penalty: decimal(-2, 2).nullish(),
  n: count.min(1).max(128).nullish(),
  best_of: count.min(1).max(128).nullish(),
  echo: z.boolean().nullish(),
  logprobs: count.min(0).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: count.nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().nullish(),
});
export type CompletionsRequest = z.infer<typeof CompletionsRequest>;

/** How many prompts a body of that kind has, whose answers are counted for each. */
export const promptsIn = ({ prompt }: { readonly prompt?: unknown }): number =>
  Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1;

const CHARACTERS_PER_TOKEN = 4;

/** How long prompts of tokens are, about, as text; null: they are texts. */
export function tokenPromptLength({ prompt }: { readonly prompt?: unknown }): number | null {
  if (!Array.isArray(prompt) || typeof prompt[0] === 'string') return null;
  return prompt.flat().length * CHARACTERS_PER_TOKEN;
}

/** How much of the answers to a body of that kind is its prompts, which were not generated. */
export function echoedLength(body: { readonly [member: string]: unknown }): number {
  if (body.echo !== true) return 0;
  const texts = [body.prompt].flat().filter((one) => typeof one === 'string');
  const length = tokenPromptLength(body) ?? texts.reduce((sum, text) => sum + text.length, 0);
  return length * (typeof body.n === 'number' ? body.n : 1);
}
