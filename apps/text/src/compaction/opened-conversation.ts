import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Conversation } from '../neutral/conversation.ts';
import { SCALAR_PATHS } from '../neutral/scalar-paths.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { effectiveBody } from '../translation/effective-body.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { isJsonObject } from '../wire/raw-json.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';

/** A request whose conversation is to be compacted, with nothing sealed in it. */
export interface OpenedConversation {
  readonly protocol: TextProtocol;
  /** Without its members that concern compaction. */
  readonly body: JsonObject;
  /** Its items or messages, without those that replace others. */
  readonly entries: readonly unknown[];
}

/** @param parsed by `parseBody`, of a request whose compactions are opened */
export function openedConversation(protocol: TextProtocol, parsed: unknown): OpenedConversation {
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
  return { protocol, body, entries: Array.isArray(list) ? list : [] };
}

/** Its content. @throws {GatewayError} `nothing_to_compact`; what is wrong with the request */
export function conversationOf({ protocol, body }: OpenedConversation, tokens: OpaqueTokens): Conversation {
  const conversation = PROTOCOLS[protocol].decodeRequest(effectiveBody(protocol, body), tokens);
  if (conversation.turns.length > 0) return conversation;
  throw new GatewayError('nothing_to_compact', {
    path: [...SCALAR_PATHS[protocol].turns],
    message: 'There is nothing to compact: the conversation is empty.',
  });
}
