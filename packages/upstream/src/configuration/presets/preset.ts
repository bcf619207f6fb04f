import type { QuirksInput } from '@gateway/contracts/quirks';
import type { LibraryName } from '../../libraries/libraries.ts';
import type { Operation, Protocol } from '../../protocol.ts';
import type { OperationPath } from '../../requests/operation-path.ts';
import type { AuthEntry } from '../auth-entry.ts';
import type { ChannelSettings, SettingName } from '../channel-settings.ts';
import type { Words } from './place.ts';

/** Where models are listed, and the member of the answer with their names. */
export interface ModelList {
  /** With the query that asks for the longest page. */
  readonly path: string;
  /** `data`: objects with `id`, as OpenAI and Anthropic have it; `models`: with `name`, as Google and Cohere. */
  readonly form: 'data' | 'models';
  /** It lists what could be deployed, and requests name deployments: that it answers proves the key, and no more. */
  readonly isCatalogue?: true;
}

/** Where a provider takes batches, by whose form they have. */
export interface BatchPaths {
  readonly openai?: { readonly files: string; readonly batches: string };
  readonly anthropic?: string;
}

/** The defaults of a kind of provider, which the configuration may replace. */
export interface Preset {
  /**
   * Null if every account has its own, so that the configuration must set it. In it, in `basePath`, `paths` and `headers`
   * the channel's settings and `words` stand for `{name}`.
   */
  readonly baseUrl: string | null;
  /** An environment variable that replaces `baseUrl`. */
  readonly baseUrlVariable?: string;
  /** Appended to a base URL without a path. */
  readonly basePath?: string;
  /** A path that the base URL must not end in, because `paths` begin with it. */
  readonly pathsBeginWith?: string;
  /** What it takes beside the settings of every channel. */
  readonly settings?: Readonly<Partial<Record<SettingName, 'required' | 'optional' | 'unless-base-url'>>>;
  readonly words?: (settings: ChannelSettings) => Words;
  /** Sent with every request; one whose placeholder has no value is left out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Its other forms, by the setting `endpoint`. */
  readonly endpoints?: Readonly<Partial<Record<NonNullable<ChannelSettings['endpoint']>, Partial<Preset>>>>;
  /** Its form where the channel speaks one protocol alone, and that one has an address or a key of its own. */
  readonly alone?: Readonly<Partial<Record<Protocol, Partial<Preset>>>>;
  /** The end of a base URL that belongs to another form of it, and what to write instead. */
  readonly otherForm?: { readonly ending: string; readonly expected: string } | null;
  readonly speaks: readonly Protocol[];
  /** What a model speaks, by its id; the first row that fits. Where there are rows and none fits, its route has to say it. */
  readonly speaksOf?: readonly { readonly ids: RegExp; readonly speaks: readonly Protocol[] }[];
  /**
   * Path of each operation, after the base URL, with `{model}` where the model is in it, and two where streams have another
   * one. A protocol without paths cannot be used.
   */
  readonly paths: Readonly<Partial<Record<Operation, OperationPath>>>;
  /** The same without `basePath`. */
  readonly rootPaths?: Preset['paths'];
  /** Where it lists its models, after the base URL; absent: nowhere that an account's key is enough for. */
  readonly modelList?: ModelList;
  /** `fallback` is sent where none is configured. */
  /** Where it takes batches, after the base URL; absent: nowhere. */
  readonly batchPaths?: BatchPaths;
  readonly key: {
    readonly header: string;
    readonly prefix: string;
    readonly required: boolean;
    readonly fallback?: string;
  };
  /** What tokens of Entra ID and signatures of AWS are for, where the configuration does not say. */
  readonly auth?: {
    readonly entraScope?: string;
    readonly awsService?: string;
    /** The sources of credentials that can be right beside `oauth`; absent: any. */
    readonly types?: readonly AuthEntry['type'][];
  };
  /** Which built-in tools a route has when the configuration does not list them. */
  readonly builtInTools: 'any' | readonly string[];
  /** How it departs from its protocols' published forms. */
  readonly quirks?: QuirksInput;
  /** Further quirks of the models that speak a protocol. */
  readonly quirksOf?: Readonly<Partial<Record<Protocol, QuirksInput>>>;
  /** And of those whose ids fit, where they speak this protocol; the first row that fits. */
  readonly quirksOfModels?: readonly {
    readonly ids: RegExp;
    readonly protocol: Protocol;
    readonly quirks: QuirksInput;
  }[];
  /** Its media are reached by its own client library, which knows the paths below those of the operations. */
  readonly library?: LibraryName;
}

export const openaiPaths = {
  responses: '/responses',
  'responses.input_tokens': '/responses/input_tokens',
  'responses.compact': '/responses/compact',
  chat: '/chat/completions',
  'images.generations': '/images/generations',
  'images.edits': '/images/edits',
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
  embeddings: '/embeddings',
  completions: '/completions',
  translations: '/audio/translations',
  realtime: '/realtime',
} as const satisfies Partial<Record<Operation, string>>;

export const openaiBatchPaths = {
  openai: { files: '/files', batches: '/batches' },
} as const satisfies BatchPaths;

export const openaiModelList = { path: '/models', form: 'data' } as const satisfies ModelList;

/** Where most have it that sort documents. */
export const rerankPath = '/rerank';

/** OpenAI's; Azure has none of this form. */
export const moderationsPath = '/moderations';

export const messagesPaths = {
  messages: '/v1/messages',
  'messages.count_tokens': '/v1/messages/count_tokens',
} as const satisfies Partial<Record<Operation, string>>;

export const openaiProtocols = [
  'responses',
  'chat',
  'images',
  'speech',
  'transcriptions',
  'embeddings',
] as const;
export const bearer = { header: 'authorization', prefix: 'Bearer ' } as const;
