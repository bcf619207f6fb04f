import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { logFirstByte } from '../call/accounting/call-log.ts';
import { type PreparedAttempt, unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { streamHead } from '../call/attempts/reply-head.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { turnIn } from '../call/request/history.ts';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { storeLastFrame } from '../call/storing/store-last-frame.ts';
import { storeResponse, UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { messageIn } from '../call/storing/store-turn.ts';
import type { MaybePromise } from '../large/maybe-promise.ts';
import type { AnswerContext } from '../neutral/target.ts';
import { recordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { encodeUsage } from '../protocols/responses/reply/usage.ts';
import { translatedHead } from '../translation/headers.ts';
import { replyContextOf } from '../translation/relay-answer.ts';
import { keptEcho } from '../translation/translation.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { newId } from '../wire/tokens/new-id.ts';
import { NO_USAGE } from '../wire/usage.ts';
import { type Compactable, compactableOf, type SealedConversation, sealingOf } from './compactable.ts';
import { prepareSummary, type Summary, type WrittenSummary } from './prepare-summary.ts';
import type { Sealing } from './seal-window.ts';

/** Prepares a call that a compaction answers, for a candidate that has none of its own: its model writes the summary. */
export const prepareCompaction = (
  call: TextCall,
  candidate: Candidate,
  order: CompactionOrder,
): MaybePromise<PreparedAttempt | GatewayError> =>
  unlessRefusedLater(() => {
    const conversation = compactableOf(call);
    // As its endpoint does.
    const write = call.endpoint.operation === 'responses.compact' ? writeWindow : writeAnswer;
    return prepareSummary(call, candidate, {
      conversation,
      order,
      onSummary: (summary) =>
        write(call, { ...summary, conversation, sealing: sealingOf(call, order, summary.text) }),
    });
  });

/** A compaction that is the whole answer. */
interface Compacting extends Summary {
  readonly conversation: Compactable;
  readonly sealing: Sealing;
}

const MS_PER_SECOND = 1000;

/** The window of `POST /v1/responses/compact`: the user's messages, and one item for all the rest. */
async function writeWindow(call: TextCall, compacting: Compacting): Promise<WrittenSummary> {
  const { conversation, sealing, consumed, reply } = compacting;
  const answer = await conversation.beside(sealing, {
    head: {
      id: newId('resp_'),
      object: 'response.compaction',
      created_at: Math.floor(call.services.now() / MS_PER_SECOND),
    },
    itemId: newId('cmp_'),
    end: { usage: encodeUsage(consumed.usage ?? NO_USAGE) },
  });
  return writeJson(call, reply, answer);
}

/** A response or a message that has nothing but the compaction, whole or as a stream. */
async function writeAnswer(call: TextCall, compacting: Compacting): Promise<WrittenSummary> {
  const { conversation, sealing, reply } = compacting;
  const { endpoint, request, caller } = call;
  const adapter = PROTOCOLS[endpoint.protocol];
  const context = contextFor(call, compacting, await conversation.seal(sealing));
  const finish = { reason: endpoint.protocol === 'messages' ? 'compaction' : 'stop' } as const;
  const isStored = endpoint.operation === 'responses';
  const store = (answer: JsonObject) => storeResponse(call, reply.candidate, answer, { isProviders: false });
  if (!request.streamed) {
    const body = { ...adapter.encodeReply({ parts: [], finish, usage: NO_USAGE }, context) };
    await turnIn(call.history)?.store(recordedMessage(body), { request, candidate: reply.candidate });
    return writeJson(call, reply, { ...body, ...(isStored && (await store(body))) });
  }
  const encoder = adapter.encodeStream(context);
  const frames = [
    ...encoder.event({ type: 'start', usage: NO_USAGE }),
    ...encoder.event({ type: 'finish', finish, usage: NO_USAGE }),
  ];
  await turnIn(call.history)?.store(messageIn(frames), { request, candidate: reply.candidate });
  const written = isStored ? await storeLastFrame(frames, store) : frames;
  const end = () => {
    caller.begin(200, streamHead(translatedHead(reply, call.context)));
    caller.end(written);
  };
  return { firstByteMs: logFirstByte(call, reply), end };
}

function contextFor(
  call: TextCall,
  { consumed, reply, text, plan }: Compacting,
  { sealed, toolChanges, echo }: SealedConversation,
): AnswerContext {
  const { context, endpoint } = call;
  const isResponses = endpoint.protocol === 'responses';
  return {
    ...replyContextOf(reply.candidate, tokensOf(call), context.requestId),
    plan: {
      ...plan,
      caller: endpoint.protocol,
      echo: isResponses ? { ...echo, ...keptEcho(call) } : {},
      compaction: {
        summary: text,
        encryptedContent: sealed,
        toolChanges,
        usage: consumed.usage ?? NO_USAGE,
      },
    },
  };
}

function writeJson(call: TextCall, reply: Reply, json: JsonObject | Buffer): WrittenSummary {
  const { caller, context } = call;
  const body = Buffer.isBuffer(json) ? json : Buffer.from(JSON.stringify(json));
  const unstored =
    !Buffer.isBuffer(json) && json.store === false && call.history.storing === 'wanted'
      ? UNSTORED_HEADER
      : {};
  const end = () => {
    caller.begin(200, {
      ...translatedHead(reply, context),
      ...unstored,
      'content-length': body.length,
    });
    caller.end(body);
  };
  return { firstByteMs: logFirstByte(call, reply), end };
}
