import type {
  ImageModelV4,
  SharedV4ProviderOptions,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import type { SpeechFormat } from '@gateway/contracts/openai/speech';
import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';

/** What a library is made with. Its requests go out through `fetch`, which knows the real key. */
export interface LibrarySettings {
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
}

/** A library's models, by their kinds. */
export interface LibraryModels {
  readonly image?: (id: string) => ImageModelV4;
  readonly speech?: (id: string) => SpeechModelV4;
  readonly transcription?: (id: string) => TranscriptionModelV4;
}

/** Members of a request, by the names that they have in the protocol. */
export type Members = Readonly<Record<string, unknown>>;

export interface CallFacts {
  readonly members: Members;
  /** Images to edit. */
  readonly inputImages: number;
  /** The channel's bound for the whole. */
  readonly timeoutMs: number;
}

interface Abilities {
  /** Members that are carried, beside those that every provider has. All others are left out and named. */
  readonly takes: readonly string[];
  readonly options?: (facts: CallFacts) => SharedV4ProviderOptions;
}

export interface ImageAbilities extends Abilities {
  /** Whether the size in pixels is carried. */
  readonly sizes: boolean;
  /** The ratios that it has; the nearest one to the size is requested. Absent: none is requested. */
  readonly ratios?: readonly `${number}:${number}`[];
  /** Images of one call; more are made by calls side by side. */
  readonly imagesPerCall: number;
  /** Images to edit; 0: there are no edits. */
  readonly maxInputImages: number;
  readonly masks: boolean;
}

export interface SpeechAbilities extends Abilities {
  /** The provider's words for the formats that it has. `wav` may be made of 24 kHz PCM. */
  readonly formats: Readonly<Partial<Record<SpeechFormat, string>>>;
  readonly wavFromPcm?: true;
}

/** One speaker's turn, in seconds. */
export interface Turn {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly speaker: string;
}

export type TranscriptionResult = Awaited<ReturnType<TranscriptionModelV4['doGenerate']>>;

export interface TranscriptionAbilities extends Omit<Abilities, 'options'> {
  readonly formats: readonly TranscriptFormat[];
  readonly options: (facts: CallFacts & { readonly format: TranscriptFormat }) => SharedV4ProviderOptions;
  /** Whether the seconds that it reports are those that it bills, and not merely the end of the last word. */
  readonly tellsDuration: boolean;
  /** Who spoke when; for formats with `diarized_json`. */
  readonly turns?: (result: TranscriptionResult) => readonly Turn[];
}

/** One provider's client library: where it calls, what it carries, and how it reports that it will not. */
export interface Library {
  /** Addresses that it builds its URLs from. A channel's own base URL replaces them. */
  readonly bases: readonly [string, ...string[]];
  /** Hosts of the same provider that it is sent to by replies, and that get the key. */
  readonly siblingHosts?: RegExp;
  /** Imported when a channel first needs it. */
  readonly load: (settings: LibrarySettings) => Promise<LibraryModels>;
  readonly images?: ImageAbilities;
  /** Of models whose ids fit, in place of `images`; the first row that fits. */
  readonly imagesOf?: readonly { readonly ids: RegExp; readonly abilities: ImageAbilities }[];
  readonly speech?: SpeechAbilities;
  readonly transcriptions?: TranscriptionAbilities;
  /** What of its own error codes means another of ours. */
  readonly errorCodes?: Readonly<Record<string, string>>;
  /** A task that has been accepted and ended without a result: by its `status`, with the member that has the reason. */
  readonly refusedTask?: { readonly status: RegExp; readonly reason: string; readonly code: string | null };
}

/** What a library carries of images by this model; undefined: it makes none. */
export const imageAbilities = (
  { images, imagesOf = [] }: Pick<Library, 'images' | 'imagesOf'>,
  model: string,
): ImageAbilities | undefined => imagesOf.find(({ ids }) => ids.test(model))?.abilities ?? images;
