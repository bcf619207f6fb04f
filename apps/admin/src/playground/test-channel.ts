import { randomUUID } from 'node:crypto';
import type { Passes } from '@gateway/metering/keys/pass';
import { z } from 'zod';
import { sendOnce } from './send-once.ts';

/** Small: a model may reason before it says its word. */
const MAX_OUTPUT_TOKENS = 200;
const QUESTION = 'Answer with the word OK.';
const TIMEOUT_MS = 60_000;

/** What a request to a channel came to. */
export const ChannelTest = z.strictObject({
  isOk: z.boolean(),
  model: z.string(),
  /** Its requests and the page of the request are found by it. */
  requestId: z.string(),
  /** Null: no answer came. */
  status: z.int().nullable(),
  /** What is wrong, in the words that a caller gets. */
  error: z.string().nullable(),
  /** Why, for the operator: what the provider said, and what to check; null: the error says it all. */
  detail: z.string().nullable(),
  /** What the model said, or its beginning; null: nothing. */
  answer: z.string().nullable(),
  firstOutputMs: z.number().nullable(),
  totalMs: z.number(),
});
export type ChannelTest = z.infer<typeof ChannelTest>;

interface Tested {
  readonly channel: string;
  /** The callers' name of a text model. */
  readonly model: string;
  readonly keyId: string;
}

export type TestChannel = (tested: Tested) => Promise<ChannelTest>;

interface TestChannelOptions {
  /** Where this service reaches the edge. */
  readonly edgeUrl: string;
  readonly passes: Pick<Passes, 'issue'>;
  /** Milliseconds of a clock that nobody sets. */
  readonly uptime: () => number;
}

/**
 * Sends the smallest request to one channel, as a caller of this key would: through the edge and the text service, with the key's
 * limits, budget and usage. A channel that rests is asked all the same.
 */
export const createTestChannel =
  ({ edgeUrl, passes, uptime }: TestChannelOptions): TestChannel =>
  async ({ channel, model, keyId }) => {
    const requestId = `test-${randomUUID()}`;
    const { isOk, status, error, detail, output, firstOutputMs, totalMs } = await sendOnce(
      { edgeUrl, uptime, timeoutMs: TIMEOUT_MS },
      {
        ...{ requestId, pass: passes.issue({ keyId, channel }) },
        ...{ model, input: QUESTION, maxOutputTokens: MAX_OUTPUT_TOKENS },
      },
    );
    return { isOk, model, requestId, status, error, detail, answer: output || null, firstOutputMs, totalMs };
  };
