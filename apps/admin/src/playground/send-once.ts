import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { responseEndAfter, STREAM_EVENTS } from '@gateway/contracts/event-stream/stream-events';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { ATTEMPT_DETAIL_HEADER } from '@gateway/contracts/usage/usage-detail';
import { z } from 'zod';

const MAX_REPLY_BYTES = 1024 * 1024;
/** What is kept of an answer's text. */
const MAX_OUTPUT_CHARACTERS = 2000;

/** What an operator's own request came to. */
interface SentOnce {
  readonly isOk: boolean;
  /** Null: no answer came. */
  readonly status: number | null;
  /** What is wrong, in the words that a caller gets. */
  readonly error: string | null;
  /** Why, for the operator: what the provider said, and what to check; null: the error says it all. */
  readonly detail: string | null;
  readonly firstOutputMs: number | null;
  readonly totalMs: number;
  /** The answer's first text. */
  readonly output: string;
  readonly isOutputCut: boolean;
  /** Of the answer; null: none came. */
  readonly headers: Headers | null;
}

interface SendOptions {
  /** Where this service reaches the edge. */
  readonly edgeUrl: string;
  /** Milliseconds of a clock that nobody sets. */
  readonly uptime: () => number;
  readonly timeoutMs: number;
}

interface OnceRequest {
  readonly requestId: string;
  readonly pass: string;
  readonly model: string;
  readonly input: string;
  readonly maxOutputTokens: number;
}

const ErrorBody = z.looseObject({ error: z.looseObject({ message: z.string() }) });
const EndEvent = z.looseObject({
  response: z.looseObject({ error: z.looseObject({ message: z.string() }).nullish() }).optional(),
  message: z.string().optional(),
});
const TextDelta = z.looseObject({ delta: z.string() });
const FAILURES: ReadonlySet<string> = new Set(STREAM_EVENTS.responses.failure);
/** The first that a model says, thinks or refuses. */
const OUTPUT = /^event: response\.(?:output_text|reasoning\w*|refusal)\.delta/;
const TEXT = 'response.output_text.delta';

/** Sends one request as a caller would, through the edge and the text service, and reads its answer to the end. Never rejects. */
export async function sendOnce(
  { edgeUrl, uptime, timeoutMs }: SendOptions,
  { requestId, pass, model, input, maxOutputTokens }: OnceRequest,
): Promise<SentOnce> {
  const startedAtMs = uptime();
  const elapsed = () => Math.round(uptime() - startedAtMs);
  let status: number | null = null;
  let headers: Headers | null = null;
  const result = (found: Partial<SentOnce>): SentOnce => ({
    ...{ isOk: false, error: null, detail: null, firstOutputMs: null, output: '', isOutputCut: false },
    ...{ status, headers },
    ...found,
    totalMs: elapsed(),
  });
  try {
    const reply = await fetch(`${edgeUrl}/v1/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${pass}`,
        'content-type': 'application/json',
        [INTERNAL_HEADERS.requestId]: requestId,
      },
      body: JSON.stringify({ model, input, max_output_tokens: maxOutputTokens, stream: true, store: false }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    ({ status, headers } = reply);
    if (!reply.ok) return result({ error: messageOf(await reply.text()), detail: detailOf(headers) });
    return result(await readStream(reply, elapsed));
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    const late = `There was no whole answer within ${timeoutMs / 1000} s.`;
    return result({ error: isLate ? late : 'The edge cannot be reached, or broke off its answer.' });
  }
}

async function readStream(reply: Response, elapsed: () => number): Promise<Partial<SentOnce>> {
  const frames = createFrameReader({ maxFrameBytes: MAX_REPLY_BYTES });
  let firstOutputMs: number | null = null;
  let output = '';
  let end: Partial<SentOnce> = { error: 'The answer ended before it was whole.' };
  // To its last byte: who leaves before counts as a caller that left.
  for await (const chunk of reply.body ?? []) {
    for (const frame of frames.push(Buffer.from(chunk))) {
      const [, type = ''] = /^event: (\S+)/.exec(frame.latin1) ?? [];
      if (OUTPUT.test(frame.latin1)) firstOutputMs ??= elapsed();
      if (type === TEXT && output.length <= MAX_OUTPUT_CHARACTERS)
        output += TextDelta.safeParse(jsonIn(frame.data ?? '')).data?.delta ?? '';
      if (FAILURES.has(type)) end = { error: endMessageOf(frame.data ?? '') };
      else if (responseEndAfter(type) !== undefined) end = { isOk: true, error: null };
    }
  }
  return {
    ...end,
    firstOutputMs,
    output: output.slice(0, MAX_OUTPUT_CHARACTERS),
    isOutputCut: output.length > MAX_OUTPUT_CHARACTERS,
  };
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
