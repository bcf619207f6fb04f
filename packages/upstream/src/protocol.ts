import type { Dialect } from '@gateway/contracts/gateway-error';

/** The wire formats of channels. */
export const PROTOCOLS = [
  'responses',
  'messages',
  'chat',
  'gemini',
  'converse',
  'images',
  'speech',
  'transcriptions',
  'embeddings',
  'rerank',
  'moderations',
  'completions',
  'translations',
  'realtime',
] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The wire formats of conversations. A channel may speak one that no caller does: it is only translated to. */
export const CONVERSATION_PROTOCOLS = [
  'responses',
  'messages',
  'chat',
  'gemini',
  'converse',
] as const satisfies readonly Protocol[];
export type ConversationProtocol = (typeof CONVERSATION_PROTOCOLS)[number];

/** The wire formats of images and sound, which some providers have in a client library of their own only. */
const MEDIA_PROTOCOLS: readonly Protocol[] = ['images', 'speech', 'transcriptions'];

export const isMediaProtocol = (protocol: Protocol): boolean => MEDIA_PROTOCOLS.includes(protocol);

export const isConversationProtocol = (protocol: Protocol): protocol is ConversationProtocol =>
  CONVERSATION_PROTOCOLS.some((one) => one === protocol);

/** What a model does. It decides by which protocols the model can be reached. */
export const MODEL_KINDS = [
  'text',
  'image',
  'speech',
  'transcription',
  'embedding',
  'rerank',
  'moderation',
  'realtime',
] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export const PROTOCOLS_OF_KIND: Readonly<Record<ModelKind, readonly Protocol[]>> = {
  text: [...CONVERSATION_PROTOCOLS, 'completions'],
  image: ['images'],
  speech: ['speech'],
  transcription: ['transcriptions', 'translations'],
  embedding: ['embeddings'],
  rerank: ['rerank'],
  moderation: ['moderations'],
  realtime: ['realtime'],
};

/** Every call that the gateway makes to a provider, with the protocol it belongs to. */
export const OPERATIONS = {
  responses: 'responses',
  'responses.input_tokens': 'responses',
  'responses.compact': 'responses',
  messages: 'messages',
  'messages.count_tokens': 'messages',
  chat: 'chat',
  'chat.input_tokens': 'chat',
  gemini: 'gemini',
  'gemini.count_tokens': 'gemini',
  converse: 'converse',
  'converse.count_tokens': 'converse',
  'images.generations': 'images',
  'images.edits': 'images',
  speech: 'speech',
  transcriptions: 'transcriptions',
  embeddings: 'embeddings',
  rerank: 'rerank',
  moderations: 'moderations',
  completions: 'completions',
  translations: 'translations',
  realtime: 'realtime',
} as const satisfies Record<string, Protocol>;
export type Operation = keyof typeof OPERATIONS;
export const OPERATION_NAMES = Object.keys(OPERATIONS).filter(
  (name): name is Operation => name in OPERATIONS,
);

/** Whose error bodies a provider sends, where they are not OpenAI's; null: those of no caller's dialect. */
const OTHER_DIALECTS: Readonly<Partial<Record<Protocol, Dialect | null>>> = {
  messages: 'anthropic',
  gemini: null,
  converse: null,
};

/** The dialect of callers to whom a provider's error bodies can be relayed; null: to nobody. */
export const dialectOfProtocol = (protocol: Protocol): Dialect | null => {
  const other = OTHER_DIALECTS[protocol];
  return other === undefined ? 'openai' : other;
};
