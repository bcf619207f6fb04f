import { seal, signThinking, unsealed } from '../answer/signature.ts';
import { asList, asNumber, asObject, asText, isGiven, isObject, type JsonObject } from '../json-value.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { countTokens } from '../tokens.ts';

const PREFIX = 'EmwKCmp';
const DEFAULT_TRIGGER_TOKENS = 150_000;

const refusal = (error_code: string, message: string) =>
  new ProviderError({ status: 400, message, details: { error_code } });

const isCompaction = (block: unknown): boolean => asObject(block).type === 'compaction';

/**
 * Compaction blocks must be this provider's own, unaltered.
 * @throws ProviderError 400
 */
export const checkCompactions = (messages: readonly unknown[], secret: string): void => {
  for (const [index, message] of messages.entries()) {
    for (const [at, entry] of asList(asObject(message).content).entries()) {
      if (!isCompaction(entry)) continue;
      const { content, encrypted_content: sealed, signature } = asObject(entry);
      const path = `messages.${index}.content.${at}`;
      if (isGiven(sealed) && unsealed(PREFIX, asText(sealed), secret) === null)
        throw refusal('compaction_signature_invalid', `${path}: Invalid \`encrypted_content\``);
      if (isGiven(signature) && signature !== signThinking(asText(content), secret))
        throw refusal('compaction_content_mismatch', `${path}: \`content\` does not match \`signature\``);
    }
  }
};

/** What the model reads: everything from the latest compaction block on. */
export const readByModel = (messages: readonly unknown[]): readonly unknown[] => {
  const start = messages.findLastIndex((message) => asList(asObject(message).content).some(isCompaction));
  return messages.slice(Math.max(start, 0)).map((message, index) => {
    const { content } = asObject(message);
    if (index > 0 || !Array.isArray(content)) return message;
    const at = content.findLastIndex(isCompaction);
    if (at < 0) return message;
    const summary = { type: 'text', text: asText(asObject(content[at]).content) };
    return { ...asObject(message), content: [summary, ...content.slice(at + 1)] };
  });
};

/** `alone`: nothing is answered. `first`: the answer follows. */
export type CompactionOrder = 'alone' | 'first' | null;

/** Whether, and how, a request has its conversation compacted. @throws ProviderError 400 for two ways at once */
export const compactionOrder = (body: JsonObject, inputTokens: number): CompactionOrder => {
  const isOrdered = isObject(body.compaction);
  if (isOrdered && isGiven(body.context_management))
    throw refusal('invalid_request', 'compaction: cannot be combined with `context_management`');
  if (isOrdered) return 'alone';
  const edit = asList(asObject(body.context_management).edits)
    .map(asObject)
    .find(({ type }) => type === 'compact_20260112');
  if (edit === undefined) return null;
  const trigger = asNumber(asObject(edit.trigger).value) ?? DEFAULT_TRIGGER_TOKENS;
  if (inputTokens <= trigger) return null;
  return edit.pause_after_compaction === true ? 'alone' : 'first';
};

export const compactionBlock = (count: number, secret: string): JsonObject => {
  const content = `Summary of ${count} messages`;
  return {
    type: 'compaction',
    content,
    encrypted_content: seal(PREFIX, content, secret),
    signature: signThinking(content, secret),
    tool_changes: [],
  };
};

/** The entry of `usage.iterations`; the other counters do not have these tokens. */
export const compactionUsage = (inputTokens: number, block: JsonObject): JsonObject => ({
  type: 'compaction',
  input_tokens: inputTokens,
  output_tokens: countTokens(asText(block.content)),
  cache_creation: null,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});
