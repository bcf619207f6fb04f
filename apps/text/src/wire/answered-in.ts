import { isObject, type JsonObject, objectAt, textAt } from './json-object.ts';

/** What a reply says of its answers. */
export interface Answered {
  /** The provider's own name for the model; null where it says none. */
  readonly model: string | null;
  /** Words, or numbers, for the end of each answer. */
  readonly ends: readonly unknown[];
}

/** What a whole reply says of its answers, in any protocol. */
export const answeredIn = (reply: JsonObject): Answered => ({
  model: textAt(reply, 'model') ?? textAt(reply, 'modelVersion'),
  ends: endsIn(reply).filter((end) => end !== null && end !== undefined),
});

function endsIn(reply: JsonObject): readonly unknown[] {
  const { choices, candidates, stop_reason: stopReason, status } = reply;
  if (Array.isArray(choices)) return choices.filter(isObject).map((choice) => choice.finish_reason);
  if (Array.isArray(candidates)) return candidates.filter(isObject).map((one) => one.finishReason);
  if (objectAt(reply, 'promptFeedback') !== null) return ['content_filter'];
  return status === undefined ? [stopReason] : responseEnd(reply);
}

/** Responses has no word for it: its status, a reason and its items say it together. */
function responseEnd({ status, incomplete_details: details, output }: JsonObject): readonly unknown[] {
  if (status === 'incomplete') return [isObject(details) ? details.reason : 'length'];
  if (status !== 'completed') return status === 'failed' ? ['error'] : [];
  const hasCalls = Array.isArray(output) && output.some((item) => isObject(item) && isCall(item));
  return [hasCalls ? 'tool_calls' : 'stop'];
}

const isCall = ({ type }: JsonObject): boolean => type === 'function_call' || type === 'custom_tool_call';
