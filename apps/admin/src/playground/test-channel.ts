import { randomUUID } from 'node:crypto';
import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { responseEndAfter, STREAM_EVENTS } from '@gateway/contracts/event-stream/stream-events';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { ATTEMPT_DETAIL_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { Passes } from '@gateway/metering/keys/pass';
import { z } from 'zod';

/** Small: a model may reason before it says its word. */
const MAX_OUTPUT_TOKENS = 200;
const QUESTION = 'Answer with the word OK.';
const TIMEOUT_MS = 60_000;
const MAX_REPLY_BYTES = 1024 * 1024;

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

const ErrorBody = z.looseObject({ error: z.looseObject({ message: z.string() }) });
const EndEvent = z.looseObject({
  response: z.looseObject({ error: z.looseObject({ message: z.string() }).nullish() }).optional(),
  message: z.string().optional(),
});
const FAILURES: ReadonlySet<string> = new Set(STREAM_EVENTS.responses.failure);
/** The first that a model says, thinks or refuses. */
const OUTPUT = /^event: response\.(?:output_text|reasoning\w*|refusal)\.delta/;

/**
 * Sends the smallest request to one channel, as a caller of this key would: through the edge and the text service, with the key's
 * limits, budget and usage. A channel that rests is asked all the same.
 */
export const createTestChannel =
  ({ edgeUrl, passes, uptime }: TestChannelOptions): TestChannel =>
  async ({ channel, model, keyId }) => {
    const requestId = `test-${randomUUID()}`;
    const startedAtMs = uptime();
    const elapsed = () => Math.round(uptime() - startedAtMs);
    const result = (found: Partial<ChannelTest>): ChannelTest => ({
      ...{ isOk: false, model, requestId, status: null, error: null, detail: null, firstOutputMs: null },
      ...found,
      totalMs: elapsed(),
    });
    const body = { model, input: QUESTION, max_output_tokens: MAX_OUTPUT_TOKENS, stream: true, store: false };
    let status: number | null = null;
    try {
      const reply = await fetch(`${edgeUrl}/v1/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${passes.issue({ keyId, channel })}`,
          'content-type': 'application/json',
          [INTERNAL_HEADERS.requestId]: requestId,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      status = reply.status;
      if (!reply.ok)
        return result({ status, error: messageOf(await reply.text()), detail: detailOf(reply.headers) });
      return result({ status, ...(await readStream(reply, elapsed)) });
    } catch (error) {
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      const late = `There was no whole answer within ${TIMEOUT_MS / 1000} s.`;
      return result({
        status,
        error: isLate ? late : 'The edge cannot be reached, or broke off its answer.',
      });
    }
  };

async function readStream(reply: Response, elapsed: () => number): Promise<Partial<ChannelTest>> {
  const frames = createFrameReader({ maxFrameBytes: MAX_REPLY_BYTES });
  let firstOutputMs: number | null = null;
  let end: Partial<ChannelTest> = { error: 'The answer ended before it was whole.' };
  // To its last byte: who leaves before counts as a caller that left.
  for await (const chunk of reply.body ?? []) {
    for (const frame of frames.push(Buffer.from(chunk))) {
      const [, type = ''] = /^event: (\S+)/.exec(frame.latin1) ?? [];
      if (OUTPUT.test(frame.latin1)) firstOutputMs ??= elapsed();
      if (FAILURES.has(type)) end = { error: endMessageOf(frame.data ?? '') };
      else if (responseEndAfter(type) !== undefined) end = { isOk: true, error: null };
    }
  }
  return { ...end, firstOutputMs };
}

function detailOf(headers: Headers): string | null {
  const detail = headers.get(ATTEMPT_DETAIL_HEADER);
  return detail === null ? null : decodeURIComponent(detail);
}

function messageOf(text: string): string {
  const body = ErrorBody.safeParse(jsonIn(text));
  return body.success ? body.data.error.message : 'The error has no message.';
}

function endMessageOf(text: string): string {
  const event = EndEvent.safeParse(jsonIn(text));
  return event.data?.response?.error?.message ?? event.data?.message ?? 'The error has no message.';
}
