import type { Dialect } from '@gateway/contracts/gateway-error';

/** The wire formats of channels. */
export const PROTOCOLS = ['responses', 'messages', 'chat', 'images', 'speech', 'transcriptions'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** What a model does. It decides by which protocols the model can be reached. */
export const MODEL_KINDS = ['text', 'image', 'speech', 'transcription'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export const PROTOCOLS_OF_KIND: Readonly<Record<ModelKind, readonly Protocol[]>> = {
  text: ['responses', 'messages', 'chat'],
  image: ['images'],
  speech: ['speech'],
  transcription: ['transcriptions'],
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
  'images.generations': 'images',
  'images.edits': 'images',
  speech: 'speech',
  transcriptions: 'transcriptions',
} as const satisfies Record<string, Protocol>;
export type Operation = keyof typeof OPERATIONS;
export const OPERATION_NAMES = Object.keys(OPERATIONS).filter(
  (name): name is Operation => name in OPERATIONS,
);

/** The shape of the error bodies that a provider sends under this protocol. */
export const dialectOfProtocol = (protocol: Protocol): Dialect =>
  protocol === 'messages' ? 'anthropic' : 'openai';
