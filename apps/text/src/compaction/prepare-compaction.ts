import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { logFirstByte } from '../call/accounting/call-log.ts';
import { type PreparedAttempt, unlessRefused } from '../call/attempts/prepared-attempt.ts';
import { streamHead } from '../call/attempts/reply-head.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { turnIn } from '../call/request/history.ts';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { storeLastFrame } from '../call/storing/store-last-frame.ts';
import { storeResponse, UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { messageIn } from '../call/storing/store-turn.ts';
import type { AnswerContext } from '../neutral/target.ts';
import { recordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { echoOf } from '../protocols/responses/reply/response-object.ts';
import { encodeUsage } from '../protocols/responses/reply/usage.ts';
import { shownItem } from '../stored/shown-item.ts';
import { newItemId } from '../stored/stored-conversations.ts';
import { translatedHead } from '../translation/headers.ts';
import { replyContextOf } from '../translation/relay-answer.ts';
import { keptEcho } from '../translation/translation.ts';
import { type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import { newId } from '../wire/tokens/new-id.ts';
import { NO_USAGE } from '../wire/usage.ts';
import { type OpenedConversation, openedConversation } from './opened-conversation.ts';
import { prepareSummary, type Summary, type WrittenSummary } from './prepare-summary.ts';
import { isUserMessage, type SealedWindow, sealWindow, toolChangesIn } from './seal-window.ts';
import { isSummary } from './shown-window.ts';

/** Prepares a call that a compaction answers, for a candidate that has none of its own: its model writes the summary. */
export const prepareCompaction = (
  call: TextCall,
  candidate: Candidate,
  order: CompactionOrder,
): PreparedAttempt | GatewayError =>
  unlessRefused(() => {
    const opened = openedConversation(call);
    const { conversation, entries } = opened;
    return prepareSummary(call, candidate, {
      conversation,
      order,
      onSummary: (summary) => {
        const window = sealWindow(call, { entries, order, summary: summary.text });
        return writeCompaction(call, { ...summary, ...window, opened });
      },
    });
  });

/** A compaction that is the whole answer. */
interface WrittenCompaction extends Summary, SealedWindow {
  readonly opened: OpenedConversation;
}

/** Resolves to what writes it as its endpoint does. */
const writeCompaction = (call: TextCall, compaction: WrittenCompaction): Promise<WrittenSummary> =>
  call.endpoint.operation === 'responses.compact'
    ? writeWindow(call, compaction)
    : writeAnswer(call, compaction);

const MS_PER_SECOND = 1000;

/** The window of `POST /v1/responses/compact`: the user's messages, and one item for all the rest. */
async function writeWindow(call: TextCall, compaction: WrittenCompaction): Promise<WrittenSummary> {
  const { opened, sealed, consumed, reply } = compaction;
  const users = opened.entries
    .filter((item) => isUserMessage(item) && !isSummary(item))
    .map((item) =>
      shownItem({ id: textAt(objectOf(item), 'id') ?? newItemId('message'), json: JSON.stringify(item) }),
    );
  const item = { id: newId('cmp_'), type: 'compaction', encrypted_content: sealed };
  return writeJson(call, reply, {
    id: newId('resp_'),
    object: 'response.compaction',
    created_at: Math.floor(call.services.now() / MS_PER_SECOND),
    output: [...users, item],
    usage: encodeUsage(consumed.usage ?? NO_USAGE),
  });
}

/** A response or a message that has nothing but the compaction, whole or as a stream. */
async function writeAnswer(call: TextCall, compaction: WrittenCompaction): Promise<WrittenSummary> {
  const { reply } = compaction;
  const { endpoint, request, caller } = call;
  const adapter = PROTOCOLS[endpoint.protocol];
  const context = contextFor(call, compaction);
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

function contextFor(call: TextCall, compaction: WrittenCompaction): AnswerContext {
  const { opened, sealed, consumed, reply, text, plan } = compaction;
  const { context, endpoint } = call;
  const isResponses = endpoint.protocol === 'responses';
  return {
    ...replyContextOf(reply.candidate, tokensOf(call), context.requestId),
    plan: {
      ...plan,
      caller: endpoint.protocol,
      echo: isResponses ? { ...echoOf(opened.body), ...keptEcho(call) } : {},
      compaction: {
        summary: text,
        encryptedContent: sealed,
        toolChanges: isResponses ? [] : toolChangesIn(opened.entries),
        usage: consumed.usage ?? NO_USAGE,
      },
    },
  };
}

function writeJson(call: TextCall, reply: Reply, json: JsonObject): WrittenSummary {
  const { caller, context } = call;
  const body = Buffer.from(JSON.stringify(json));
  const unstored = json.store === false && call.history.storing === 'wanted' ? UNSTORED_HEADER : {};
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
