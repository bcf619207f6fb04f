import { z } from 'zod';

const stage = z.looseObject({ mode: z.string().nullish() }).nullish();

/** How OpenAI's protocols have a request and its answer moderated: scored, or blocked. */
export const ModerationWire = z.looseObject({
  mode: z.string().nullish(),
  policy: z.looseObject({ mode: z.string().nullish(), input: stage, output: stage }).nullish(),
});
export type ModerationWire = z.infer<typeof ModerationWire>;

/** Only scores can be done without: any other mode is a promise, also an unknown one and one in a place of its own. */
export const blocks = ({ mode, policy }: ModerationWire): boolean =>
  [mode, policy?.mode, policy?.input?.mode, policy?.output?.mode].some((one) => (one ?? 'score') !== 'score');
