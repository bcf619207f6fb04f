import { GatewayError } from '@gateway/contracts/gateway-error';
import { objectAt, parseObject, textAt } from '../wire/json-object.ts';

/** A provider does not have a thread as the gateway has it, or cannot keep it. */
const NOT_KEPT = new Set<string | null>([
  'thread_not_found',
  'thread_already_continued',
  'thread_continue_in_flight',
  'thread_unsupported_request',
]);

/** Whether a channel refused a thread's turn, which it would not as the whole conversation. */
export function refusesThread(refusal: unknown): boolean {
  if (!(refusal instanceof GatewayError) || refusal.options.relay === undefined) return false;
  const error = objectAt(parseObject(refusal.options.relay.body) ?? {}, 'error');
  const details = error && objectAt(error, 'details');
  return details !== null && NOT_KEPT.has(textAt(details, 'error_code'));
}
