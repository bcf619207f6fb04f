import type { Environment } from '@gateway/contracts/environment';
import { environmentNetwork } from '../connecting/network.ts';
import { buildAlerts } from './build/build-alerts.ts';
import { buildChannel } from './build/build-channel.ts';
import { buildConversationRules } from './build/build-conversation-rules.ts';
import { buildModel } from './build/build-model.ts';
import type { Channel, Configuration } from './configuration.ts';
import type { ChannelEntry, ModelEntry } from './file-schema.ts';
import { openaiProtocols } from './presets/preset.ts';
import type { Provider } from './presets/presets.ts';

type ModelFacts = Omit<ModelEntry, 'routes'>;

/** OpenAI's model names, by what the models do. */
const OPENAI_MODELS: Readonly<Record<string, ModelFacts>> = {
  'gpt-*': { kind: 'text' },
  'chatgpt-*': { kind: 'text' },
  'o1*': { kind: 'text' },
  'o3*': { kind: 'text' },
  'o4*': { kind: 'text' },
  'codex-*': { kind: 'text' },
  'gpt-image-*': { kind: 'image', family: 'gpt-image' },
  'chatgpt-image-*': { kind: 'image', family: 'gpt-image' },
  'dall-e-2': { kind: 'image', family: 'dall-e-2' },
  'dall-e-3': { kind: 'image', family: 'dall-e-3' },
  'tts-*': { kind: 'speech', family: 'tts-1' },
  'gpt-4o-mini-tts*': { kind: 'speech', family: 'gpt-4o-mini-tts' },
  'whisper-1': { kind: 'transcription', family: 'whisper-1' },
  'gpt-4o-transcribe*': { kind: 'transcription', family: 'gpt-4o-transcribe' },
  'gpt-4o-mini-transcribe*': { kind: 'transcription', family: 'gpt-4o-transcribe' },
  'gpt-4o-transcribe-diarize*': { kind: 'transcription', family: 'gpt-4o-transcribe-diarize' },
  'gpt-transcribe*': { kind: 'transcription', family: 'gpt-transcribe' },
  'text-embedding-*': { kind: 'embedding' },
  'omni-moderation-*': { kind: 'moderation' },
  'gpt-realtime*': { kind: 'realtime' },
};

const ANTHROPIC_MODELS: Readonly<Record<string, ModelFacts>> = { 'claude-*': { kind: 'text' } };

interface Offer {
  readonly channel: string;
  readonly entry: ChannelEntry;
  readonly models: Readonly<Record<string, ModelFacts>>;
}

/** The models that a channel of a company gets where nobody names them. */
export const USUAL_MODELS: Readonly<Partial<Record<Provider, Readonly<Record<string, ModelFacts>>>>> = {
  openai: OPENAI_MODELS,
  anthropic: ANTHROPIC_MODELS,
};

const SIMULATOR: readonly Offer[] = [
  {
    channel: 'simulator-openai',
    entry: {
      provider: 'simulator',
      speaks: [...openaiProtocols, 'rerank', 'moderations', 'completions', 'translations', 'realtime'],
    },
    models: { ...OPENAI_MODELS, 'rerank-*': { kind: 'rerank' } },
  },
  {
    channel: 'simulator-anthropic',
    entry: { provider: 'simulator', speaks: ['messages'] },
    models: ANTHROPIC_MODELS,
  },
];

/** Channels from the provider keys in the environment; without any, the simulator under all of their model names. */
export const environmentConfiguration = (env: Environment): Configuration => {
  const offers: Offer[] = [];
  if (env.OPENAI_API_KEY) {
    const entry = { provider: 'openai', apiKey: env.OPENAI_API_KEY } as const;
    offers.push({ channel: 'openai', entry, models: OPENAI_MODELS });
  }
  if (env.ANTHROPIC_API_KEY) {
    const entry = { provider: 'anthropic', apiKey: env.ANTHROPIC_API_KEY } as const;
    offers.push({ channel: 'anthropic', entry, models: ANTHROPIC_MODELS });
  }
  const network = environmentNetwork(env);
  const used = offers.length > 0 ? offers : SIMULATOR;

  const channels = new Map<string, Channel>(
    used.map(({ channel, entry }) => [channel, buildChannel(channel, entry, env, network)]),
  );
  const models = used.flatMap((offer) =>
    Object.entries(offer.models).map(([pattern, facts]) =>
      buildModel(pattern, { ...facts, routes: [{ channel: offer.channel }] }, channels),
    ),
  );
  const source = offers.length > 0 ? 'environment' : 'simulator';
  const conversations = buildConversationRules(null);
  const alerts = buildAlerts(null, () => []);
  return {
    source,
    revision: '',
    channels,
    models,
    conversations,
    alerts,
    contentLog: null,
    hooks: [],
    network,
  };
};
