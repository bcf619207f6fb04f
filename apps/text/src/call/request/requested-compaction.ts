import { CompactEdit } from '@gateway/contracts/anthropic/messages';
import { COMPACTION_TRIGGER, isCompactionItem } from '@gateway/contracts/openai/responses';
import type { Operation } from '@gateway/upstream/protocol';
import type { CompactionCause } from '../../metering/text-metrics.ts';
import { isObject, type JsonObject, numberAt, objectAt, textAt } from '../../wire/json-object.ts';

/** When and how a request has its conversation compacted. */
export interface CompactionOrder {
  /** What requests it. */
  readonly by: CompactionCause;
  /** In tokens of input; a shorter conversation is left as it is. Null: as the model's context demands. */
  readonly aboveTokens: number | null;
  /** The compaction is the whole answer. */
  readonly isAlone: boolean;
  /** `only`: instead of the gateway's own prompt. */
  readonly instructions: { readonly text: string; readonly use: 'only' | 'also' } | null;
}

/** The members of a request that concern compactions. */
export interface RequestedCompaction {
  /** It holds compactions of earlier conversations. */
  readonly holdsCompactions: boolean;
  /** Null: the conversation stays as it is. */
  readonly order: CompactionOrder | null;
}

/** The limit of a summary that the gateway requests from a model, in tokens. */
export const MAX_SUMMARY_TOKENS = 16_384;

/** In tokens. */
const DEFAULT_TRIGGER_TOKENS = 150_000;

/** Null for a request without members that concern compactions. */
export function requestedCompaction(operation: Operation, body: JsonObject): RequestedCompaction | null {
  const holdsCompactions = holds(operation, body);
  const order = ORDERS[operation]?.(body) ?? null;
  return holdsCompactions || order !== null ? { holdsCompactions, order } : null;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function holds(operation: Operation, { input, messages }: JsonObject): boolean {
  if (operation.startsWith('responses'))
    return listOf(input).some((item) => isObject(item) && (isCompactionItem(item) || isTrigger(item)));
  if (!operation.startsWith('messages')) return false;
  return listOf(messages).some((message) => isObject(message) && listOf(message.content).some(isBlock));
}

const isBlock = (block: unknown): boolean => isObject(block) && block.type === 'compaction';

const isTrigger = ({ type }: JsonObject): boolean => type === COMPACTION_TRIGGER;

/** Requests that only count compact nothing. */
const ORDERS: Readonly<Partial<Record<Operation, (body: JsonObject) => CompactionOrder | null>>> = {
  'responses.compact': () => ({ by: 'endpoint', aboveTokens: 0, isAlone: true, instructions: null }),
  responses: ({ input, context_management: management }) => {
    const last = listOf(input).at(-1);
    // Codex accepts only the compaction as an answer.
    if (isObject(last) && isTrigger(last))
      return { by: 'trigger', aboveTokens: 0, isAlone: true, instructions: null };
    const entry = listOf(management).find((one) => isObject(one) && one.type === 'compaction');
    if (!isObject(entry)) return null;
    const aboveTokens = numberAt(entry, 'compact_threshold');
    return { by: 'threshold', aboveTokens, isAlone: false, instructions: null };
  },
  messages: (body) => {
    const summarize = objectAt(body, 'compaction');
    if (summarize !== null) {
      const instructions = instructionsIn(summarize, 'only');
      return { by: 'summarize', aboveTokens: 0, isAlone: true, instructions };
    }
    const edit = listOf(objectAt(body, 'context_management')?.edits).find(isCompactEdit);
    if (!isObject(edit)) return null;
    const trigger = objectAt(edit, 'trigger');
    return {
      by: 'threshold',
      aboveTokens: (trigger && numberAt(trigger, 'value')) ?? DEFAULT_TRIGGER_TOKENS,
      isAlone: edit.pause_after_compaction === true,
      instructions: instructionsIn(edit, 'also'),
    };
  },
};

function instructionsIn(from: JsonObject, use: 'only' | 'also'): CompactionOrder['instructions'] {
  const text = textAt(from, 'instructions')?.trim() ?? '';
  return text === '' ? null : { text, use };
}

export const isCompactEdit = (edit: unknown): boolean =>
  isObject(edit) && edit.type === CompactEdit.shape.type.value;
