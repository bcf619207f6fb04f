import type { Actor } from '@gateway/metering/audit/audit-log';
import { z } from 'zod';
import type { SendByDraft, SendByDraftOptions } from './send-by-draft.ts';

/** What a request that was sent by a draft came to. Its record has what it used and cost. */
export const DraftTry = z.strictObject({
  isOk: z.boolean(),
  model: z.string(),
  /** Its record and the page of the request are found by it. */
  requestId: z.string(),
  /** Null: no answer came. */
  status: z.int().nullable(),
  /** What is wrong, in the words that a caller gets. */
  error: z.string().nullable(),
  /** Why, for the operator: what the provider said, and what to check; null: the error says it all. */
  detail: z.string().nullable(),
  /** In the order in which they ended; the last one answered where the request succeeded. */
  attempts: z.array(
    z.strictObject({
      channel: z.string(),
      account: z.string(),
      outcome: z.string(),
      status: z.int().nullable(),
      ms: z.number().nullable(),
      isHedge: z.boolean(),
    }),
  ),
  /** The first 2,000 characters of the answer. */
  output: z.string(),
  isOutputCut: z.boolean(),
  firstOutputMs: z.number().nullable(),
  totalMs: z.number(),
});
export type DraftTry = z.infer<typeof DraftTry>;

export interface TriedDraft {
  readonly text: string;
  /** Values of variables that the text names, for this request only. */
  readonly secrets?: Readonly<Record<string, string>> | undefined;
  /** Of a text model, as callers name it. */
  readonly model: string;
  readonly input: string;
  readonly maxOutputTokens: number;
  /** The key that is charged. */
  readonly keyId: string;
}

/**
 * Sends one request by a draft, which stays a draft.
 *
 * @throws {GatewayError} `invalid_value` for a draft with mistakes or a masked secret, `conflict` while the same person tries another one
 */
export type TryDraft = (tried: TriedDraft, by: Actor) => Promise<DraftTry>;

/** What it needs is loaded with the first draft that is tried. */
export function createTryDraft(options: SendByDraftOptions): TryDraft {
  let opening: Promise<SendByDraft> | undefined;
  return async (tried, by) => {
    opening ??= import('./send-by-draft.ts').then(({ createSendByDraft }) => createSendByDraft(options));
    const send = await opening;
    return send(tried, by);
  };
}
