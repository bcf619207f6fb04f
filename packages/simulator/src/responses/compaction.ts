import { seal, unsealed } from '../answer/signature.ts';
import { checkOpenAi, missingParameter } from '../checks/check-openai.ts';
import { readJson } from '../checks/read-json.ts';
import type { Rules } from '../checks/rule.ts';
import { asList, asNumber, asObject, asText, isGiven, type JsonObject } from '../json-value.ts';
import { tokenLedgerEntry } from '../ledger.ts';
import type { Provider } from '../provider.ts';
import { invalidRequest } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import { countInputTokens, countTokens } from '../tokens.ts';
import { ownItems, previousContext } from './effective-input.ts';
import { lastUserText } from './read-prompt.ts';
import { responsesUsage } from './response-object.ts';

const PREFIX = 'gAAAAACmp';

export const isCompaction = ({ type }: JsonObject): boolean =>
  type === 'compaction' || type === 'compaction_summary';

/**
 * Compactions must be this provider's own.
 * @throws ProviderError 400
 */
export const checkCompactions = (items: readonly JsonObject[], secret: string): void => {
  for (const { encrypted_content: sealed } of items.filter(isCompaction)) {
    if (typeof sealed === 'string' && unsealed(PREFIX, sealed, secret) !== null) continue;
    throw invalidRequest(
      `The encrypted content ${asText(sealed).slice(0, 4)}... could not be verified.`,
      'invalid_encrypted_content',
      null,
    );
  }
};

/** What the model reads: everything since the latest compaction, which is a text to it. */
export const readByModel = (context: readonly JsonObject[], secret: string): readonly JsonObject[] => {
  const start = context.findLastIndex(isCompaction);
  const since = context.slice(Math.max(start, 0));
  return since.map((item) =>
    isCompaction(item) ? { text: unsealed(PREFIX, asText(item.encrypted_content), secret) } : item,
  );
};

/** Whether the request has the conversation compacted, and nothing else. */
export const isTriggered = (items: readonly JsonObject[]): boolean =>
  items.at(-1)?.type === 'compaction_trigger';

/** Whether the conversation is compacted before it is answered. */
export const isCompacted = (body: JsonObject, inputTokens: number): boolean => {
  const thresholds = asList(body.context_management).map((entry) =>
    asNumber(asObject(entry).compact_threshold),
  );
  return thresholds.some((threshold) => threshold !== null && inputTokens > threshold);
};

export const compactionItem = (context: readonly JsonObject[], provider: Provider): JsonObject => ({
  id: provider.ids.next('cmp_'),
  type: 'compaction',
  encrypted_content: seal(PREFIX, `Summary of ${context.length} items`, provider.signatureSecret),
});

const RULES: Rules = {
  model: { kind: 'string', required: true, min: 1 },
  input: { kind: 'any' },
  instructions: { kind: 'string' },
  previous_response_id: { kind: 'string' },
  prompt_cache_key: { kind: 'string', max: 64 },
  prompt_cache_options: { kind: 'object' },
  prompt_cache_retention: { kind: 'string' },
  service_tier: { kind: 'string' },
  image: { kind: 'object' },
};

const shown = ({ content, ...item }: JsonObject): JsonObject => ({
  ...item,
  status: 'completed',
  content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
});

/** `POST /v1/responses/compact`: the user's messages, and one item for everything. */
export const compactConversation: Handler = (call) => {
  const { provider } = call;
  const body = readJson(call);
  call.applyDirectives(lastUserText(body.input), asText(body.model));
  checkOpenAi(body, RULES, provider.refusesUnknown);
  if (!isGiven(body.input) && !isGiven(body.previous_response_id)) throw missingParameter('input');
  const context = [
    ...previousContext(body.previous_response_id, provider),
    ...ownItems(body.input, provider),
  ];
  checkCompactions(context, provider.signatureSecret);
  const users = context.filter(({ type, role }) => type === 'message' && role === 'user');
  const item = compactionItem(context, provider);
  const usage = {
    inputTokens: countInputTokens(body.instructions, readByModel(context, provider.signatureSecret)),
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: countTokens(asText(item.encrypted_content)),
    reasoningTokens: 0,
  };
  return jsonReply(
    {
      id: provider.ids.next('resp_'),
      object: 'response.compaction',
      created_at: provider.nowSeconds(),
      output: [...users.map(shown), item],
      usage: responsesUsage(usage),
    },
    tokenLedgerEntry(asText(body.model), usage),
  );
};
