import { ENCRYPTED_REASONING_PREFIX, isOwnSeal } from '../answer/signature.ts';
import { asList, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import type { Provider } from '../provider.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';
import { outputOf } from './response-store.ts';

const ID_PREFIXES: ReadonlyMap<string, string> = new Map([
  ['message', 'msg_'],
  ['function_call', 'fc_'],
  ['custom_tool_call', 'ctc_'],
  ['reasoning', 'rs_'],
]);

const isReference = (item: JsonObject): boolean =>
  item.type === 'item_reference' || (item.type === undefined && item.role === undefined && isGiven(item.id));

const resolveReference = (item: JsonObject, provider: Provider): JsonObject => {
  const id = asText(item.id);
  const stored = provider.responses.item(id);
  if (stored) return stored;
  throw new ProviderError({ status: 404, message: `Item with id '${id}' not found.`, param: 'input' });
};

/** The request's own items, each with type and id; references replaced by their items. */
export const ownItems = (input: unknown, provider: Provider): JsonObject[] => {
  const list =
    typeof input === 'string'
      ? [{ role: 'user', content: [{ type: 'input_text', text: input }] }]
      : asList(input);
  return list.map((entry) => {
    const item = asObject(entry);
    if (isReference(item)) return resolveReference(item, provider);
    const type = asText(item.type) || 'message';
    return { type, ...item, id: item.id ?? provider.ids.next(ID_PREFIXES.get(type) ?? 'item_') };
  });
};

/**
 * An earlier response's context and output.
 * @throws ProviderError 400 for an unknown response, and for one that is not finished
 */
export const previousContext = (id: unknown, provider: Provider): readonly JsonObject[] => {
  if (!isGiven(id)) return [];
  const previous = provider.responses.get(asText(id));
  const refuse = (message: string, code: string | null) =>
    invalidRequest(message, code, 'previous_response_id');
  if (!previous) {
    throw refuse(`Previous response with id '${asText(id)}' not found.`, 'previous_response_not_found');
  }
  const status = asText(previous.current.status);
  if (['queued', 'in_progress', 'failed'].includes(status)) {
    throw refuse(`Previous response '${previous.id}' cannot be continued while it is ${status}.`, null);
  }
  return [...previous.context, ...outputOf(previous.current)];
};

const CALLS = new Set(['function_call', 'custom_tool_call']);
const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output']);

/**
 * Every tool output needs its call, and every call its output.
 * @throws ProviderError 400
 */
export const checkPairing = (context: readonly JsonObject[]): void => {
  const open = new Set<string>();
  for (const item of context) {
    const type = asText(item.type);
    const callId = asText(item.call_id);
    if (CALLS.has(type)) open.add(callId);
    if (OUTPUTS.has(type) && !open.delete(callId)) {
      throw invalidRequest(
        `No tool call found for function call output with call_id ${callId}.`,
        null,
        'input',
      );
    }
  }
  const [unanswered] = open;
  if (unanswered) {
    throw invalidRequest(`No tool output found for function call ${unanswered}.`, null, 'input');
  }
};

/**
 * Encrypted reasoning must be this provider's own.
 * @throws ProviderError 400
 */
export const checkEncryptedReasoning = (items: readonly JsonObject[], secret: string): void => {
  for (const { type, encrypted_content: sealed } of items) {
    if (type !== 'reasoning' || typeof sealed !== 'string') continue;
    if (isOwnSeal(ENCRYPTED_REASONING_PREFIX, sealed, secret)) continue;
    throw invalidRequest(
      `The encrypted content ${sealed.slice(0, 4)}...${sealed.slice(-4)} could not be verified.`,
      'invalid_encrypted_content',
      null,
    );
  }
};
