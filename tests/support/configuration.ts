/** The gateway's own key at the provider, long and odd enough to be found wherever it should not be. */
export const PROVIDER_KEY = 'sk-provider-4f7a1d9c2b8e6053';

/** One provider that speaks everything, and a model of every kind and family. Takes the provider's origin. */
export const ONE_PROVIDER = (origin: string): string => `
channels:
  provider: { provider: simulator, baseUrl: "${origin}", apiKey: ${PROVIDER_KEY} }
models:
  gpt-5.2: { kind: text, routes: [{ channel: provider }] }
  claude-sonnet-5-5: { kind: text, routes: [{ channel: provider }] }
  alias: { kind: text, routes: [{ channel: provider, model: gpt-5.2 }] }
  dall-e-2: { kind: image, family: dall-e-2, routes: [{ channel: provider }] }
  dall-e-3: { kind: image, family: dall-e-3, routes: [{ channel: provider }] }
  gpt-image-1: { kind: image, family: gpt-image, routes: [{ channel: provider }] }
  tts-1: { kind: speech, routes: [{ channel: provider }] }
  gpt-4o-mini-tts: { kind: speech, routes: [{ channel: provider }] }
  whisper-1: { kind: transcription, family: whisper-1, routes: [{ channel: provider }] }
  text-embedding-3-small: { kind: embedding, routes: [{ channel: provider }] }
  rerank-v4.0: { kind: rerank, routes: [{ channel: provider }] }
  omni-moderation-latest: { kind: moderation, routes: [{ channel: provider }] }
  gpt-4o-transcribe: { kind: transcription, family: gpt-4o-transcribe, routes: [{ channel: provider }] }
`;
