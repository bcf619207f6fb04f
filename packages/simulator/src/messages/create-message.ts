import type { Answer, Finish } from '../answer/answer.ts';
import { composeAnswer } from '../answer/compose-answer.ts';
import { isOwnSeal, isOwnSignature, REDACTED_THINKING_PREFIX } from '../answer/signature.ts';
import { readJson } from '../checks/read-json.ts';
import { asList, asObject, asText, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import { invalidMessages } from '../replies/provider-error.ts';
import { eventFrame, jsonReply, streamReply } from '../replies/reply.ts';
import type { Call, Handler } from '../requests/call.ts';
import { checkMessagesRequest } from './check-request.ts';
import {
  checkCompactions,
  compactionBlock,
  compactionOrder,
  compactionUsage,
  readByModel,
} from './compaction.ts';
import { contentBlocks, cumulativeUsage, messageUsage, usageAtStart } from './content-blocks.ts';
import { messageFrames } from './message-stream.ts';
import { lastUserText, readMessagesPrompt } from './read-prompt.ts';
import { readThread, type ThreadTurn } from './thread.ts';

/**
 * Thinking in a request must be this provider's own, unaltered.
 * @throws ProviderError 400
 */
const checkSignatures = (messages: readonly unknown[], secret: string): void => {
  messages.forEach((message, index) => {
    asList(asObject(message).content).forEach((entry, blockIndex) => {
      const block = asObject(entry);
      const at = `messages.${index}.content.${blockIndex}`;
      if (block.type === 'thinking' && !isOwnSignature(asText(block.thinking), block.signature, secret)) {
        throw invalidMessages(`${at}: Invalid \`signature\` in \`thinking\` block`);
      }
      if (
        block.type === 'redacted_thinking' &&
        !isOwnSeal(REDACTED_THINKING_PREFIX, asText(block.data), secret)
      ) {
        throw invalidMessages(`${at}: Invalid \`data\` in \`redacted_thinking\` block`);
      }
    });
  });
};

const VERSIONS = ['2023-06-01', '2026-10-21'];

const STOP_REASONS: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'refusal',
  'stop-sequence': 'stop_sequence',
};

const REFUSED = { type: 'refusal', category: 'cyber', explanation: null };

/** @throws ProviderError 400 without `anthropic-version`, or with one that does not exist */
const versionOf = ({ request }: Call): string => {
  const version = request.headers['anthropic-version'];
  if (typeof version !== 'string') throw invalidMessages('anthropic-version: header is required');
  if (VERSIONS.includes(version)) return version;
  throw invalidMessages(`anthropic-version: "${version}" is not a valid version`);
};

const readChecked = (call: Call, counts: boolean): { body: JsonObject; thread: ThreadTurn | null } => {
  const sent = readJson(call);
  call.applyDirectives(lastUserText(sent.messages), asText(sent.model));
  const version = versionOf(call);
  const thread = readThread(call, sent);
  const body = thread?.body ?? sent;
  checkMessagesRequest(body, { version, refusesUnknown: call.provider.refusesUnknown, counts });
  const messages = asList(body.messages);
  checkSignatures(messages, call.provider.signatureSecret);
  checkCompactions(messages, call.provider.signatureSecret);
  return { body: { ...body, messages: readByModel(messages) }, thread };
};

const endingOf = ({ finish, stopSequence }: Answer) => ({
  stop_reason: STOP_REASONS[finish],
  stop_sequence: stopSequence,
  stop_details: finish === 'refusal' ? REFUSED : null,
  container: null,
});

/** A compaction that nothing follows. */
const NOTHING_SAID = {
  parts: [],
  usage: { inputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 },
};

const billed = ({ usage }: Answer, compacted: { readonly iterations: readonly JsonObject[] } | null) =>
  compacted === null
    ? usage
    : {
        ...usage,
        inputTokens: usage.inputTokens + Number(compacted.iterations[0]?.input_tokens),
        outputTokens: usage.outputTokens + Number(compacted.iterations[0]?.output_tokens),
      };

/** `POST /v1/messages` */
export const createMessage: Handler = (call) => {
  const { provider } = call;
  const { body, thread } = readChecked(call, false);
  const prompt = readMessagesPrompt(body);
  const order = compactionOrder(body, prompt.inputTokens);
  const composed = composeAnswer(prompt, call.wish());
  const answer = order === 'alone' ? { ...composed, ...NOTHING_SAID } : composed;
  const summary =
    order === null ? null : compactionBlock(asList(body.messages).length, provider.signatureSecret);
  const answered = contentBlocks(answer, {
    provider,
    omitsThinking: asObject(body.thinking).display === 'omitted',
    redactsThinking: call.wish().redactedThinking === true,
  });
  const blocks = summary === null ? answered : [summary, ...answered];
  const iterations = summary && { iterations: [compactionUsage(prompt.inputTokens, summary)] };
  const id = provider.ids.next('msg_');
  const message = (content: readonly JsonObject[], ending: JsonObject, usage: JsonObject): JsonObject => ({
    id,
    type: 'message',
    role: 'assistant',
    model: prompt.model,
    content,
    ...ending,
    diagnostics: null,
    usage,
  });
  const ending = { ...endingOf(answer), ...(order === 'alone' && { stop_reason: 'compaction' }) };
  const ledger = tokenLedgerEntry(prompt.model, billed(answer, iterations));
  const isKept = answer.finish !== 'refusal';
  if (isKept) thread?.keep(id, blocks);
  if (body.stream !== true)
    return jsonReply(message(blocks, ending, { ...messageUsage(answer), ...iterations }), ledger);

  const unended = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };
  const frames = messageFrames({
    started: message([], unended, usageAtStart(answer)),
    blocks,
    ending,
    usage: { ...cumulativeUsage(answer), ...iterations },
  });
  const error = { type: 'overloaded_error', message: 'Overloaded' };
  const errorFrames = () => [eventFrame('error', { type: 'error', error, request_id: call.requestId })];
  return streamReply(frames, { ledger, errorFrames, onEnd: (complete) => complete || thread?.release() });
};

/** `POST /v1/messages/count_tokens` */
export const countMessageTokens: Handler = (call) => {
  const { body } = readChecked(call, true);
  return jsonReply({ input_tokens: readMessagesPrompt(body).inputTokens });
};
