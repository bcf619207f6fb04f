/** What the official clients call for a path, and what is done with the answer. */
export interface ClientCall {
  readonly client: 'openai' | 'anthropic';
  /** The method, the same in both languages. */
  readonly method: string;
  readonly answer: 'text' | 'images' | 'sound';
}

export const CLIENT_CALLS: Readonly<Record<string, ClientCall>> = {
  '/v1/responses': { client: 'openai', method: 'responses.create', answer: 'text' },
  '/v1/messages': { client: 'anthropic', method: 'messages.create', answer: 'text' },
  '/v1/chat/completions': { client: 'openai', method: 'chat.completions.create', answer: 'text' },
  '/v1/images/generations': { client: 'openai', method: 'images.generate', answer: 'images' },
  '/v1/images/edits': { client: 'openai', method: 'images.edit', answer: 'images' },
  '/v1/audio/speech': { client: 'openai', method: 'audio.speech.create', answer: 'sound' },
  '/v1/audio/transcriptions': { client: 'openai', method: 'audio.transcriptions.create', answer: 'text' },
};

/** Where samples take the key from: a secret belongs in no code. */
export const KEY_VARIABLE = 'GATEWAY_KEY';
