import type { GatewayError } from '@gateway/contracts/gateway-error';
import { ConsumedUsage, UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import { JobMetering } from '@gateway/jobs/job-metering';
import { z } from 'zod';

const LINE_FEED = 0x0a;

/** What a line's endpoint has answered: the HTTP status and the JSON body. */
export interface LineAnswer {
  readonly status: number;
  readonly body: string;
}

/** What became of a line that was begun, or refused. */
export type LineEnding =
  | { readonly type: 'succeeded'; readonly answer: LineAnswer }
  | { readonly type: 'errored'; readonly error: GatewayError };

/** What is to be put down in the usage records, once: whose, and what. */
export const Settlement = z.object({ subject: UsageSubject, result: UsageResult });
export type Settlement = z.infer<typeof Settlement>;

export const EndedLine = z.object({
  index: z.int().min(0),
  type: z.enum(['succeeded', 'errored']),
  /** The HTTP status of an answer. */
  status: z.int(),
  errorCode: z.string().nullable(),
  errorMessage: z.string().nullable(),
  /** Null: nothing was reserved for it. */
  settlement: Settlement.nullable(),
  /** Of its answer or its error, which follow the head of the group in the order of their lines here. */
  sizeBytes: z.int().min(0),
});

/** What stands at the head of what is written together. */
export const Head = z.object({
  /** Lines from here on have not been taken: nothing is reserved for them. */
  reach: z.int().min(0),
  /** No longer begun, since their provider has certainly not begun them; with what they have used all the same. */
  notBegun: z.array(
    z.object({ index: z.int().min(0), metering: JobMetering, used: ConsumedUsage.nullable() }),
  ),
  begun: z.array(z.object({ index: z.int().min(0), metering: JobMetering })),
  ended: z.array(EndedLine),
  settled: z.array(z.int()),
});
export type Head = z.infer<typeof Head>;

/** A line that has ended, without what it came to, which `LineJournal.read` reads. */
export interface KnownEnd extends Omit<z.infer<typeof EndedLine>, 'index' | 'settlement' | 'sizeBytes'> {
  readonly tokens: Pick<
    UsageResult['consumption'],
    'inputTokens' | 'cachedInputTokens' | 'outputTokens' | 'reasoningTokens'
  > | null;
}

export interface Pending {
  readonly begun: Head['begun'];
  readonly notBegun: Head['notBegun'];
  readonly ended: { readonly line: z.infer<typeof EndedLine>; readonly bytes: Buffer }[];
  readonly settled: number[];
}

export const nothing = (): Pending => ({ begun: [], notBegun: [], ended: [], settled: [] });

export async function* oneByOne(parts: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* parts;
}

export const tokensOf = ({ consumption }: UsageResult): KnownEnd['tokens'] => {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = consumption;
  return { inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
};

export async function firstLine(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    const end = chunk.indexOf(LINE_FEED);
    chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
    if (end >= 0) break;
  }
  return Buffer.concat(chunks);
}
