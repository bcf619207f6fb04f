import { asObject, asText, type JsonObject } from '../json-value.ts';
import { DONE_FRAME, dataFrame } from '../replies/reply.ts';
import { splitWords } from '../tokens.ts';
import { type ChatAnswer, type ChatHead, shownCalls, thinkingPart } from './completion.ts';
import type { HasQuirk } from './quirks.ts';

export interface ChatStreamOptions {
  readonly head: ChatHead;
  readonly answer: ChatAnswer;
  readonly includesUsage: boolean;
  readonly has: HasQuirk;
}

function* callDeltas(call: JsonObject, index: number, has: HasQuirk): Generator<JsonObject> {
  const position = has('no-index') ? {} : { index };
  const member = call.type === 'custom' ? 'custom' : 'function';
  const textName = call.type === 'custom' ? 'input' : 'arguments';
  const definition = asObject(call[member]);
  if (has('whole-call') || has('arguments-object')) {
    yield { ...position, ...call };
    return;
  }
  const { id, type } = call;
  yield { ...position, id, type, [member]: { name: definition.name, [textName]: '' } };
  const again = has('repeated-id') ? { id } : {};
  for (const piece of splitWords(asText(definition[textName])))
    yield { ...position, ...again, [member]: { [textName]: piece } };
}

function* deltas(answer: ChatAnswer, has: HasQuirk): Generator<JsonObject> {
  yield { role: 'assistant', content: has('null-content') ? null : '', refusal: null };
  const name = has('reasoning-content') ? 'reasoning_content' : has('reasoning') ? 'reasoning' : null;
  if (name) for (const piece of splitWords(answer.reasoning)) yield { [name]: piece };
  if (has('thinking-parts'))
    for (const piece of splitWords(answer.reasoning)) yield { content: [thinkingPart(piece)] };
  for (const content of splitWords(answer.content ?? '')) yield { content };
  for (const refusal of splitWords(answer.refusal ?? '')) yield { refusal };
  for (const [index, call] of shownCalls(answer.toolCalls, has).entries()) {
    for (const delta of callDeltas(call, index, has)) yield { tool_calls: [delta] };
  }
}

/** The chunk stream of one completion. */
export function* chatFrames({ head, answer, includesUsage, has }: ChatStreamOptions): Generator<string> {
  const common = {
    ...head,
    object: 'chat.completion.chunk',
    service_tier: 'default',
    system_fingerprint: 'fp_simulator',
  };
  const everyChunk = has('usage-every-chunk')
    ? { usage: answer.usage }
    : includesUsage
      ? { usage: null }
      : {};
  const chunk = (delta: JsonObject, finish_reason: string | null, usage: JsonObject = everyChunk): string =>
    dataFrame({ ...common, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...usage });

  if (has('comments')) yield ': PROCESSING\n\n';
  for (const delta of deltas(answer, has)) {
    yield chunk(delta, null);
    if (has('keep-alive-chunks')) yield dataFrame({ ...common, choices: [] });
  }
  yield chunk({}, answer.finishReason, has('usage-with-finish') ? { usage: answer.usage } : everyChunk);
  const hasOwnUsageChunk =
    includesUsage && !has('no-usage') && !has('usage-with-finish') && !has('usage-every-chunk');
  if (hasOwnUsageChunk) yield dataFrame({ ...common, choices: [], usage: answer.usage });
  if (!has('no-done')) yield DONE_FRAME;
}
