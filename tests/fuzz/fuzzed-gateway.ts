import { type Gateway, startGateway } from '../support/start-gateway.ts';

const channelsOf = (origin: string) => ({
  responses: {
    provider: 'simulator',
    baseUrl: origin,
    apiKey: 'k',
    speaks: ['responses', 'images', 'speech', 'transcriptions'],
  },
  messages: { provider: 'simulator', baseUrl: origin, apiKey: 'k', speaks: ['messages'] },
  chat: { provider: 'simulator', baseUrl: origin, apiKey: 'k', speaks: ['chat'] },
});
const text = (channel: string) => ({ kind: 'text', routes: [{ channel, model: 'm' }] });
const media = (kind: string, family?: string) => ({
  kind,
  ...(family && { family }),
  routes: [{ channel: 'responses' }],
});

/** A model for each protocol of a provider, and one of each family of the others. JSON is YAML. */
const configuration = (origin: string): string =>
  JSON.stringify({
    channels: channelsOf(origin),
    models: {
      'over-responses': text('responses'),
      'over-messages': text('messages'),
      'over-chat': text('chat'),
      'dall-e-2': media('image', 'dall-e-2'),
      'gpt-image-1': media('image', 'gpt-image'),
      'tts-1': media('speech'),
      'gpt-4o-mini-tts': media('speech'),
      'whisper-1': media('transcription', 'whisper-1'),
      'gpt-4o-transcribe': media('transcription', 'gpt-4o-transcribe'),
    },
  });

export const startFuzzedGateway = (): Promise<Gateway> => startGateway({ configuration, restarts: false });
