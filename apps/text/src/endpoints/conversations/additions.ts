import {
  type ConversationRequest as ConversationBody,
  ConversationItemsRequest,
  ConversationRequest,
} from '@gateway/contracts/openai/conversations';
import { validate } from '@gateway/service-kit/request/validate';
import type { z } from 'zod';
import { isReference } from '../../stored/response-record.ts';
import { type ConversationItem, storedItem } from '../../stored/stored-conversations.ts';

/** What a request puts into a conversation. */
export interface Additions {
  readonly metadata: NonNullable<ConversationBody['metadata']>;
  /** The JSON of one that the request only refers to is empty. */
  readonly items: readonly ConversationItem[];
}

/** To a new conversation, or to one that is there. */
export type Adding = 'create' | 'add';
const SCHEMAS: Readonly<Record<Adding, z.ZodType<ConversationBody>>> = {
  create: ConversationRequest,
  add: ConversationItemsRequest,
};

/** @throws {GatewayError} for what the endpoint does not take */
export function additionsIn(adding: Adding, value: unknown): Additions {
  const { items, metadata } = validate(SCHEMAS[adding], value);
  return { metadata: metadata ?? {}, items: (items ?? []).map(itemOrReference) };
}

const itemOrReference = (item: unknown): ConversationItem =>
  isReference(item) ? { id: item.id, json: '' } : storedItem(item);
