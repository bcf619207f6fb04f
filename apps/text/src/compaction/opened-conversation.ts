import { GatewayError } from '@gateway/contracts/gateway-error';
import { tokensOf } from '../call/history/conversation-space.ts';
import type { TextCall } from '../call/request/text-call.ts';
import type { Conversation } from '../neutral/conversation.ts';
import { SCALAR_PATHS } from '../neutral/scalar-paths.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { effectiveBody } from '../translation/effective-body.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';

/** A conversation that is to be compacted, with nothing sealed in it. */
export interface OpenedConversation {
  /** The request, without its members that concern compaction. */
  readonly body: JsonObject;
  /** Its items or messages, without those that replace others. */
  readonly entries: readonly unknown[];
  readonly conversation: Conversation;
}

/**
 * Reads the whole conversation of a call whose compactions are opened.
 *
 * @throws {GatewayError} `nothing_to_compact`; what is wrong with the request
 */
export function openedConversation(call: TextCall): OpenedConversation {
  const { endpoint, request } = call;
  const { protocol } = endpoint;
  const parsed = request.content.take();
  const { compaction: _, ...rest } = isJsonObject(parsed) ? parsed : {};
  const { input } = rest;
  const body =
    typeof input === 'string'
      ? {
          ...rest,
          input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }],
        }
      : rest;
  const list = protocol === 'messages' ? rest.messages : body.input;
  const entries = Array.isArray(list) ? list : [];
  const conversation = PROTOCOLS[protocol].decodeRequest(effectiveBody(protocol, body), tokensOf(call));
  if (conversation.turns.length > 0) return { body, entries, conversation };
  throw new GatewayError('nothing_to_compact', {
    path: [...SCALAR_PATHS[protocol].turns],
    message: 'There is nothing to compact: the conversation is empty.',
  });
}
