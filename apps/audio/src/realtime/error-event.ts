import type { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject, jsonIn } from '@gateway/contracts/json/json-object';
import { errorResponse } from '@gateway/service-kit/error-response';
import { requestIdOf } from '@gateway/service-kit/request/request-id';

/** The event for an error, as the Realtime API has it. @param eventId of the caller's event that it is about */
export function errorEvent(error: GatewayError, eventId: string | null): string {
  const { body } = errorResponse(error, 'openai', '');
  const answer = jsonIn(body);
  const sent: JsonObject = isObject(answer) && isObject(answer.error) ? answer.error : {};
  const { type = 'server_error', code = null, message = error.message, param = null } = sent;
  return JSON.stringify({
    type: 'error',
    event_id: requestIdOf(undefined).replace(/^req_/, 'event_'),
    // Clients read a code, which some errors lack over HTTP.
    error: { type, code: code ?? type, message, param, event_id: eventId },
  });
}
