import type { JsonObject } from '../json-value.ts';

/** A conversation that responses are added to. */
export interface Conversation {
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: unknown;
  readonly items: JsonObject[];
}

export interface ConversationStore {
  put(conversation: Conversation): void;
  get(id: string): Conversation | undefined;
  clear(): void;
}

const MAX_CONVERSATIONS = 1000;

/** Keeps the newest conversations in memory. */
export const createConversationStore = (): ConversationStore => {
  const conversations = new Map<string, Conversation>();
  return {
    put: (conversation) => {
      conversations.set(conversation.id, conversation);
      if (conversations.size > MAX_CONVERSATIONS)
        for (const oldest of conversations.keys()) return void conversations.delete(oldest);
    },
    get: (id) => conversations.get(id),
    clear: () => conversations.clear(),
  };
};
