import { z } from 'zod';

const stage = z.looseObject({ mode: z.string().nullish() }).nullish();

/** How OpenAI's protocols have a request and its answer moderated: scored, or blocked. */
export const ModerationWire = z.looseObject({
  policy: z.looseObject({ input: stage, output: stage }).nullish(),
});
export type ModerationWire = z.infer<typeof ModerationWire>;

/** A policy that blocks is a promise, which an answer without moderation would break. */
export const blocks = ({ policy }: ModerationWire): boolean =>
  [policy?.input, policy?.output].some((one) => one?.mode === 'block');
