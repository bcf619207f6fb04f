import { z } from 'zod';

/** What OpenAI takes where a request names no model. */
export const USUAL_MODERATION_MODEL = 'omni-moderation-latest';

const ModerationPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string().min(1) }) }),
]);

/** `POST /v1/moderations`. Only the members that the gateway checks or uses; all others pass unchanged. */
export const ModerationsRequest = z.looseObject({
  /** Absent: `omni-moderation-latest`. */
  model: z.string().min(1).nullish(),
  /** A text, a list of texts, or the texts and images of one thing. */
  input: z.union([z.string(), z.array(z.string()).min(1), z.array(ModerationPart).min(1)]),
});
export type ModerationsRequest = z.infer<typeof ModerationsRequest>;
