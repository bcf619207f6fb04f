import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { consumedByLost, type Part } from '../call/accounting/broken-answer.ts';
import { logConsumed, logFirstByte } from '../call/accounting/call-log.ts';
import { estimatesFor } from '../call/accounting/metered-call.ts';
import { consumedOf, type ReplyOutcome } from '../call/accounting/outcome.ts';
import { amendedLarge, type LargeReply, type LargeResult, readLarge } from '../call/attempts/large-reply.ts';
import { streamHead } from '../call/attempts/reply-head.ts';
import { MAX_REPLY_BYTES } from '../call/attempts/whole-body.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { turnIn } from '../call/request/history.ts';
import { type Amendment, storeResponse, UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { knownUsage } from '../metering/consumption.ts';
import { MAX_PAUSES } from '../protocols/messages/reply/paused-turn.ts';
import type { Answer, OnConsumed } from './relay-answer.ts';

/** A whole reply that is large, and those before it that ended in a pause. */
export interface LargeAnswer {
  readonly bytes: Buffer;
  readonly earlier: readonly Buffer[];
  /** Whether they are streams, which have gone on after their pauses. */
  readonly isStream: boolean;
}

/** Brings a large whole answer to its caller, as events where it streams: the thread reads and writes it. */
export async function relayLargeAnswer(
  answer: Answer,
  received: LargeAnswer,
  onConsumed: OnConsumed,
): Promise<Pick<ReplyOutcome, 'firstByteMs' | 'end'>> {
  const { call, reply, plan, head } = answer;
  const { caller, request } = call;
  const read = await readWhole(answer, received, onConsumed);
  onConsumed(consumedByLarge(answer, read));
  await turnIn(call.history)?.store(read.message, { request, candidate: reply.candidate });
  const members = await storeLarge(answer, read);
  const unstored = members?.store === false ? UNSTORED_HEADER : {};
  const asStream = request.streamed ? { protocol: plan.caller, hidesUsage: !plan.showUsage } : null;
  const events = asStream && (await amendedLarge(call, read.bytes, { members, asStream }));
  const written = events ?? (await amendedLarge(call, read.bytes, { members, asStream: null })) ?? read.bytes;
  const end = () => {
    if (events === null) {
      caller.begin(200, { ...head, ...unstored, 'content-length': written.length });
      caller.end(written);
    } else {
      caller.begin(200, { ...streamHead(head), ...unstored });
      caller.end(createFrameReader({ maxFrameBytes: Number.POSITIVE_INFINITY }).push(events));
    }
  };
  return { firstByteMs: logFirstByte(call, reply), end };
}

/** Reads the answer to its end: a paused one goes on. @throws {GatewayError} where it is none */
async function readWhole(
  answer: Answer,
  { bytes, earlier, isStream }: LargeAnswer,
  onConsumed: OnConsumed,
): Promise<LargeReply> {
  const { call, plan, goOn } = answer;
  const mayPause = plan.mayPause && earlier.length < MAX_PAUSES && !isStream;
  const count = (part: Part, error: unknown) => {
    const consumed = consumedByLost(call, part, error);
    logConsumed(call, answer.reply, consumed);
    onConsumed(consumed);
  };
  const refuse = (result: Extract<LargeResult, { kind: 'refused' }>): never => {
    count(result.part, result.error);
    throw result.error;
  };
  const result = await read(answer, { bytes, earlier, isStream }, mayPause);
  if (result.kind === 'read') return result;
  if (result.kind === 'refused') return refuse(result);
  let next: Buffer | null;
  try {
    const rest = await goOn(result.content);
    next = rest && (await rest.bytes(MAX_REPLY_BYTES));
  } catch (error) {
    const cut = await read(answer, { bytes, earlier, isStream }, false);
    if (cut.kind !== 'paused') count(cut.kind === 'read' ? cut : cut.part, error);
    throw error;
  }
  if (next !== null)
    return readWhole(answer, { bytes: next, earlier: [...earlier, bytes], isStream }, onConsumed);
  const cut = await read(answer, { bytes, earlier, isStream }, false);
  if (cut.kind === 'paused') throw new Error('an answer that was not to pause');
  return cut.kind === 'read' ? cut : refuse(cut);
}

function read(
  { call, reply, plan }: Answer,
  { bytes, earlier, isStream }: LargeAnswer,
  mayPause: boolean,
): Promise<LargeResult> {
  const { echo, ...rest } = plan;
  return readLarge(call, reply, {
    bytes,
    order: {
      kind: 'translated',
      plan: rest,
      echo: JSON.stringify(echo),
      tokens: tokensOf(call).key,
      requestId: call.context.requestId,
      earlier,
      isStream,
      mayPause,
    },
  });
}

function consumedByLarge({ call, reply }: Answer, { usage, outputLength, unknownFinish }: LargeReply) {
  if (unknownFinish !== undefined) call.context.line.unknownFinish = unknownFinish;
  const consumed = consumedOf(
    knownUsage(
      usage,
      true,
      estimatesFor(call, () => outputLength),
    ),
  );
  logConsumed(call, reply, consumed);
  return consumed;
}

const storeLarge = async ({ call, reply }: Answer, { head, stored }: LargeReply): Promise<Amendment> =>
  call.endpoint.operation === 'responses'
    ? storeResponse(call, reply.candidate, head, { read: stored && { ...stored, ids: [] } })
    : null;
