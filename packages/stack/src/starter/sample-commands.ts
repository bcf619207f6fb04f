import { type Catalog, createCatalog, NO_LOADS } from '@gateway/upstream/catalog';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { CONVERSATION_PROTOCOLS, type ModelKind, type Protocol } from '@gateway/upstream/protocol';

interface Sample {
  readonly title: string;
  readonly path: string;
  readonly kind: ModelKind;
  readonly protocol: Protocol;
  /** Names to try if the configuration has only patterns. */
  readonly usualModels: readonly string[];
  /** What follows the URL and the key, for a model and the folder with the example files. */
  readonly rest: (model: string, examples: string) => readonly string[];
}

const json = (body: Record<string, unknown>): string[] => [
  `-H 'Content-Type: application/json'`,
  `-d ${quoted(JSON.stringify(body))}`,
];

const SAMPLES: readonly Sample[] = [
  {
    title: 'Responses',
    path: '/v1/responses',
    kind: 'text',
    protocol: 'responses',
    usualModels: ['gpt-5.6-sol'],
    rest: (model) => json({ model, input: 'Say hello in one sentence.' }),
  },
  {
    title: 'Messages',
    path: '/v1/messages',
    kind: 'text',
    protocol: 'messages',
    usualModels: ['claude-sonnet-5-5'],
    rest: (model) =>
      json({ model, max_tokens: 200, messages: [{ role: 'user', content: 'Say hello in one sentence.' }] }),
  },
  {
    title: 'Chat Completions',
    path: '/v1/chat/completions',
    kind: 'text',
    protocol: 'chat',
    usualModels: ['gpt-5.6-sol', 'claude-sonnet-5-5'],
    rest: (model) => json({ model, messages: [{ role: 'user', content: 'Say hello in one sentence.' }] }),
  },
  {
    title: 'Embeddings',
    path: '/v1/embeddings',
    kind: 'embedding',
    protocol: 'embeddings',
    usualModels: ['text-embedding-3-small'],
    rest: (model) => json({ model, input: 'Keys expire after ninety days.', dimensions: 8 }),
  },
  {
    title: 'Images, generation',
    path: '/v1/images/generations',
    kind: 'image',
    protocol: 'images',
    usualModels: ['gpt-image-2', 'dall-e-3', 'dall-e-2'],
    rest: (model) => json({ model, prompt: 'A lighthouse at dusk', response_format: 'url' }),
  },
  {
    title: 'Images, edit',
    path: '/v1/images/edits',
    kind: 'image',
    protocol: 'images',
    usualModels: ['gpt-image-2', 'dall-e-2', 'dall-e-3'],
    rest: (model, examples) => [
      `-F ${quoted(`model=${model}`)} -F prompt='Make it night' -F response_format=url`,
      `-F image=@${quoted(`${examples}/lighthouse.png`)}`,
    ],
  },
  {
    title: 'Speech (writes speech.mp3)',
    path: '/v1/audio/speech',
    kind: 'speech',
    protocol: 'speech',
    usualModels: ['gpt-4o-mini-tts', 'tts-1'],
    rest: (model) => [...json({ model, voice: 'alloy', input: 'Good morning.' }), '-o speech.mp3'],
  },
  {
    title: 'Transcription',
    path: '/v1/audio/transcriptions',
    kind: 'transcription',
    protocol: 'transcriptions',
    usualModels: ['gpt-transcribe', 'whisper-1', 'gpt-4o-transcribe'],
    rest: (model, examples) => [
      `-F ${quoted(`model=${model}`)} -F file=@${quoted(`${examples}/speech.wav`)}`,
    ],
  },
];

export interface SampleCommand {
  readonly title: string;
  /** To be pasted into a shell, on several lines; null where no model is configured for it. */
  readonly command: string | null;
}

interface SampleOptions {
  readonly edgeUrl: string;
  /** The header with the key, as one word of a POSIX shell. */
  readonly authorization: string;
  /** Absolute path of the folder with the example files. */
  readonly examples: string;
}

/** One working `curl` per endpoint, with a model that this configuration has. */
export function sampleCommands(configuration: Configuration, options: SampleOptions): SampleCommand[] {
  const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
  const isFile = configuration.source === 'file';
  return SAMPLES.map((sample) => {
    const ownNames = isFile ? exactNames(catalog) : [];
    const model = modelFor(sample, [...ownNames, ...sample.usualModels], catalog);
    if (model === undefined) return { title: sample.title, command: null };
    const parts = [
      `curl -sS ${options.edgeUrl}${sample.path}`,
      `-H ${options.authorization}`,
      ...sample.rest(model, options.examples),
    ];
    return { title: sample.title, command: parts.join(' \\\n  ') };
  });
}

/** A team's own names come before the usual ones. */
const exactNames = (catalog: Catalog): string[] =>
  catalog.listModels().flatMap(({ isPattern, pattern }) => (isPattern ? [] : [pattern]));

/** The first name that the endpoint can serve. */
const modelFor = (
  { kind, protocol }: Sample,
  names: readonly string[],
  catalog: Catalog,
): string | undefined =>
  names.find((name) => {
    const model = catalog.resolveModel(name);
    // A text model answers over every text protocol, its own or not.
    const orElse = kind === 'text' ? CONVERSATION_PROTOCOLS : [];
    return model?.kind === kind && catalog.candidates({ model, protocol, orElse }).length > 0;
  });

/** As one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
