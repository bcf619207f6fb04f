import { GatewayError, type SerializedError } from '@gateway/contracts/gateway-error';
import { boundedJson } from '@gateway/contracts/json/json-depth';
import type { Quirks } from '@gateway/contracts/quirks';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import type { ConversationProtocol, Operation } from '@gateway/upstream/protocol';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import { hasAnswer } from '../call/attempts/whole-body.ts';
import { endpointOf } from '../call/request/text-endpoint.ts';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { type TranslatedReply, translateReply } from '../conversion/translate-reply.ts';
import type { AnswerPlan, ReplyContext } from '../neutral/target.ts';
import { GivenIds } from '../passthrough/given-ids.ts';
import { missingInWhole, shownMembers } from '../passthrough/own-members.ts';
import { RepeatedCallIds } from '../passthrough/repeated-call-ids.ts';
import { SentIds } from '../passthrough/sent-ids.ts';
import { recordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import { pausedContent } from '../protocols/messages/reply/paused-turn.ts';
import { PROTOCOLS, UPSTREAMS } from '../protocols/protocols.ts';
import type { ProviderId } from '../stored/origins/id-origins.ts';
import { type Kept, receivedIds } from '../stored/origins/received-ids.ts';
import { outputItems } from '../stored/response-record.ts';
import { answerLength } from '../wire/answer-length.ts';
import { objectOfCut } from '../wire/cut-json.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { decodeFailure } from '../wire/openai-errors.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { newId } from '../wire/tokens/new-id.ts';
import { opaqueTokens, type TokenKey } from '../wire/tokens/opaque-token.ts';
import { addUsage, atTier, type Usage } from '../wire/usage.ts';
import { type DataColumns, dataColumns } from './data-columns.ts';
import { type ItemColumns, storableColumns } from './item-columns.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/** How a reply is written that passes to a caller of its protocol. */
interface PassedOrder {
  readonly kind: 'passed';
  readonly operation: Operation;
  /** The body of the request: it has the calls of the conversation so far. */
  readonly sent: Uint8Array;
  readonly quirks: Pick<Quirks, 'toolCallIds'>;
  readonly kept: Kept;
  /** Where a later request finds the ids of a response that its server does not store; absent where it stores it. */
  readonly heldBy?: 'store' | 'connection' | null;
  /** Whether the caller has had items of these ids; null: nobody has looked yet. */
  readonly known: ReadonlyMap<string, boolean> | null;
}

/** How one is written that is translated. */
interface TranslatedOrder {
  readonly kind: 'translated';
  readonly plan: Omit<AnswerPlan, 'echo'>;
  /** As JSON. */
  readonly echo: string;
  readonly tokens: TokenKey;
  readonly requestId: string;
  /** Replies before it that ended in a pause. */
  readonly earlier: readonly Uint8Array[];
  /** Whether they are streams, which have gone on after their pauses. */
  readonly isStream: boolean;
  readonly mayPause: boolean;
}

export interface ReplyTask {
  readonly bytes: Uint8Array;
  readonly order: PassedOrder | TranslatedOrder;
  /** Whose items it is stored as, and who made them; null where nothing is stored. */
  readonly storing: { readonly owner: string; readonly maker: string } | null;
}

/** What is known of a whole reply, and how its caller gets it. */
export interface ReadReply {
  readonly kind: 'read';
  /** Its small members without its answer, as JSON. */
  readonly head: string;
  /** Null: as it came. */
  readonly bytes: Uint8Array | null;
  readonly usage: Usage | null;
  /** Characters of the answer. */
  readonly outputLength: number;
  /** A word for its end that nobody knows. */
  readonly unknownFinish?: string | undefined;
  readonly ids: readonly ProviderId[];
  /** As it is stored: the items of a response, and its other members. */
  readonly output: ItemColumns | null;
  readonly data: DataColumns | null;
  /** What a thread goes on from: the one item of a message, with the message's id. */
  readonly message: { readonly id: string; readonly item: ItemColumns } | null;
}

export type ReplyResult =
  | ReadReply
  /** What the upstream sent before it paused, as JSON. */
  | { readonly kind: 'paused'; readonly content: string }
  /** Items whose ids the caller may have had before. */
  | { readonly kind: 'asking'; readonly ids: readonly string[] }
  | {
      readonly kind: 'refused';
      readonly error: SerializedError;
      readonly isUnreadable: boolean;
      /** What it has used all the same. */
      readonly usage: Usage | null;
      readonly outputLength: number;
    };

/** Reads a whole reply, and writes it for its caller. */
export async function replyTask({ bytes, order, storing }: ReplyTask): Promise<ReplyResult> {
  const protocol =
    order.kind === 'passed' ? endpointOf(order.operation).protocol : order.plan.target.protocol;
  if (order.kind === 'translated' && order.isStream) return collected(bytes, order, storing);
  const earlier = order.kind === 'translated' ? order.earlier.map(bodyIn) : [];
  const bodies: unknown[] = [...earlier];
  try {
    const body = bodyIn(bytes);
    bodies.push(body);
    return order.kind === 'passed'
      ? await passed(body, order, storing)
      : translated(body, earlier, order, storing);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    // What is no JSON may be the beginning of an answer.
    if (bodies.length === earlier.length) bodies.push(objectOfCut(bufferOf(bytes)));
    return {
      kind: 'refused',
      error: thrown.serialize(),
      isUnreadable: thrown instanceof UnreadableReply,
      ...partOf(protocol, bodies.map(objectOf)),
    };
  }
}

function bodyIn(bytes: Uint8Array): unknown {
  try {
    return parseBody(boundedJson(bufferOf(bytes).toString()));
  } catch {
    throw new UnreadableReply('The upstream answered with something that is not JSON.');
  }
}

function partOf(
  protocol: ConversationProtocol,
  replies: readonly JsonObject[],
): { usage: Usage | null; outputLength: number } {
  const usages = replies.flatMap((one) => UPSTREAMS[protocol].readUsage(one) ?? []);
  return {
    usage: usages.length === 0 ? null : usages.reduce(addUsage),
    outputLength: replies.reduce((sum, one) => sum + answerLength(one), 0),
  };
}

/** Its errors are cleaned by who has the secrets that are to be removed. */
const asItCame = (text: string): string => text;

async function passed(
  body: unknown,
  { operation, sent, quirks, kept, heldBy, known }: PassedOrder,
  storing: ReplyTask['storing'],
): Promise<ReplyResult> {
  if (!isJsonObject(body))
    throw new UnreadableReply('The upstream answered with something that is not JSON.');
  if (reportsFailure(body)) throw decodeFailure(JSON.stringify(body), asItCame);
  if (!hasAnswer(body)) throw new UnreadableReply('The upstream answered without an answer.');
  const { protocol } = endpointOf(operation);
  const { readUsage } = PROTOCOLS[protocol];
  const members: { [name: string]: unknown } = {};
  if (operation === 'responses') {
    Object.assign(
      members,
      missingInWhole(body, () => body),
    );
    if (heldBy !== undefined) {
      const asked = new Set<string>();
      const hasItem = async (id: string) => {
        asked.add(id);
        return known?.get(id) ?? false;
      };
      const stored = heldBy === 'store' ? { hasItem, hasResponse: async () => false } : heldBy;
      const given = new GivenIds({ sent: new SentIds(bufferOf(sent)), heldBy: stored });
      const own = await given.output({ ...body, ...members });
      if (asked.size > 0 && known === null) return { kind: 'asking', ids: [...asked] };
      Object.assign(members, own);
    }
  } else if (operation === 'messages' || operation === 'chat') {
    const ids = new RepeatedCallIds(protocol, new SentIds(bufferOf(sent)), quirks);
    Object.assign(
      members,
      shownMembers(protocol, ids, body, () => body),
    );
  }
  const isChanged = Object.keys(members).length > 0;
  const written = isChanged ? { ...body, ...members } : body;
  return {
    ...readAs(written, operation === 'responses' ? 'responses' : protocol, storing),
    bytes: isChanged ? sharedText(JSON.stringify(written)) : null,
    usage: readUsage(body),
    outputLength: answerLength(body),
    ids: receivedIds(protocol, body, kept),
  };
}

function translated(
  body: unknown,
  earlier: readonly unknown[],
  { plan, echo, tokens, requestId, mayPause }: TranslatedOrder,
  storing: ReplyTask['storing'],
): ReplyResult {
  const paused = mayPause ? pausedContent(body) : null;
  if (paused !== null) return { kind: 'paused', content: JSON.stringify(paused) };
  const made = translateReply(wholePlan(plan, echo), body, contextOf(tokens, requestId), earlier);
  const tier = UPSTREAMS[plan.target.protocol].readUsage(objectOf(body))?.serviceTier;
  return readTranslated({ ...made, usage: atTier(made.usage, tier) }, plan.caller, storing);
}

/** What one push takes: a stream comes in pieces. */
const PUSHED_BYTES = 65_536;

/** The same for the streams that an answer came in. */
function collected(
  bytes: Uint8Array,
  { plan, echo, tokens, requestId, earlier }: TranslatedOrder,
  storing: ReplyTask['storing'],
): ReplyResult {
  const collector = new StreamCollector(wholePlan(plan, echo), contextOf(tokens, requestId));
  try {
    for (const [at, stream] of [...earlier, bytes].map(bufferOf).entries()) {
      if (at > 0) collector.resume();
      for (let from = 0; from < stream.length; from += PUSHED_BYTES)
        collector.push(stream.subarray(from, from + PUSHED_BYTES));
    }
    return readTranslated(collector.end(), plan.caller, storing);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { usage, outputLength } = collector;
    return { kind: 'refused', error: thrown.serialize(), isUnreadable: false, usage, outputLength };
  }
}

const wholePlan = (plan: TranslatedOrder['plan'], echo: string): AnswerPlan => ({
  ...plan,
  echo: objectOf(parseBody(echo)),
});

const contextOf = (tokens: TokenKey, requestId: string): ReplyContext => ({
  requestId,
  mintId: newId,
  nowSeconds: () => Math.floor(Date.now() / 1000),
  tokens: opaqueTokens(tokens),
  cleanText: asItCame,
});

function readTranslated(
  { body, usage, finish }: TranslatedReply,
  caller: TextProtocol,
  storing: ReplyTask['storing'],
): ReadReply {
  const written = sharedText(JSON.stringify(body));
  // As the caller reads it, kept numbers and all.
  const parsed = objectOf(parseBody(written.toString()));
  return {
    ...readAs(parsed, caller, storing),
    bytes: written,
    usage,
    outputLength: answerLength(parsed),
    unknownFinish: finish.unknown,
    ids: [],
  };
}

/** The members that hold an answer, and those that repeat the request. */
const LARGE_MEMBERS: ReadonlySet<string> = new Set(['output', 'choices', 'content', 'instructions', 'tools']);

export function readAs(
  body: JsonObject,
  protocol: TextProtocol,
  storing: ReplyTask['storing'],
): Pick<ReadReply, 'kind' | 'head' | 'output' | 'data' | 'message'> {
  const head = Object.fromEntries(Object.entries(body).filter(([name]) => !LARGE_MEMBERS.has(name)));
  const isResponse = storing !== null && protocol === 'responses';
  const { output: _, ...data } = body;
  return {
    kind: 'read',
    head: JSON.stringify(head),
    output: isResponse ? storableColumns(storing.owner, outputItems(body, storing.maker)) : null,
    data: isResponse ? dataColumns(storing.owner, data) : null,
    message: storing !== null && protocol === 'messages' ? messageIn(body, storing.owner) : null,
  };
}

function messageIn(body: JsonObject, owner: string): ReadReply['message'] {
  const message = recordedMessage(body);
  if (message === null) return null;
  const json = JSON.stringify({ role: 'assistant', content: message.content });
  return { id: message.id, item: storableColumns(owner, [{ id: null, json }]) };
}

export interface AmendTask {
  readonly bytes: Uint8Array;
  /** Members that its caller gets instead, as JSON. */
  readonly members: string;
  /** For a caller who streams. */
  readonly asStream: { readonly protocol: TextProtocol; readonly hidesUsage: boolean } | null;
}

/** Writes a whole reply with other members, or as events. Null where it is no finished reply. */
export function amendTask({ bytes, members, asStream }: AmendTask): Uint8Array | null {
  const body = { ...objectOf(parseBody(bufferOf(bytes).toString())), ...objectOf(parseBody(members)) };
  if (asStream === null) return sharedText(JSON.stringify(body));
  const frames = PROTOCOLS[asStream.protocol].replyFrames(body, asStream);
  return frames === null ? null : sharedText(frames.join(''));
}
