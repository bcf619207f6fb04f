import { createHash } from 'node:crypto';
import type { Price } from '@gateway/contracts/models/price';
import type { Quirks, QuirksInput } from '@gateway/contracts/quirks';
import type { Network } from '../connecting/network.ts';
import type { Cooldown } from '../health/cooldown.ts';
import type { LibraryName } from '../libraries/libraries.ts';
import type { ModelKind, Operation, Protocol } from '../protocol.ts';
import type { OperationPath } from '../requests/operation-path.ts';
import type { TimeLimits } from '../sending/time-limits.ts';
import type { Alerts } from './alerts.ts';
import type { ChannelSecrets } from './channel-secrets.ts';
import type { ChannelSettings } from './channel-settings.ts';
import type { ContentLogSettings } from './content-log.ts';
import type { ImageFamily } from './file-schema.ts';
import type { HookSettings } from './hooks.ts';
import type { BatchPaths, ModelList, Preset } from './presets/preset.ts';
import type { Provider } from './presets/presets.ts';

/** One API key of a channel; the provider counts and limits each by itself. Safe to log: `secrets` shows nothing. */
export interface Account {
  /** `default` for the only key of a channel with `apiKey`, or without a key. */
  readonly name: string;
  /** Its share among the channel's accounts. */
  readonly weight: number;
  /** How many of its requests may be in flight, in all processes together; null: no bound of its own. */
  readonly maxConcurrent: number | null;
  readonly secrets: ChannelSecrets;
}

/** A channel whose provider does whole batches. */
export interface ChannelBatches {
  /** Full paths. */
  readonly paths: BatchPaths;
  /** What a batch charges, as a multiple of what the route does, where the model's price does not say it. */
  readonly priceFactor: number;
}

/** One provider that we may call, at one address, with every default filled in. Safe to log. */
export interface Channel {
  readonly name: string;
  readonly provider: Provider;
  /** Scheme, host and port, such as `https://api.openai.com`. */
  readonly origin: string;
  /** Full path of each operation that the channel has. */
  readonly paths: Readonly<Partial<Record<Operation, OperationPath>>>;
  /** Where its models are listed, with the full path; null: nowhere. */
  readonly modelList: ModelList | null;
  /** Where its provider does batches, and what that costs; null: the gateway does their lines itself. */
  readonly batches: ChannelBatches | null;
  readonly speaks: readonly Protocol[];
  /** What its models speak, by their ids; null: all of them the same. */
  readonly speaksOf: NonNullable<Preset['speaksOf']> | null;
  readonly builtInTools: Preset['builtInTools'];
  /** What checks its conversations at AWS; null: nothing that the gateway asks for. */
  readonly guardrail: NonNullable<ChannelSettings['guardrail']> | null;
  /** The client library that its provider's media are reached by; null: it speaks their protocols itself. */
  readonly library: LibraryName | null;
  readonly connectMs: number;
  /** The way to its provider, and to what its results link to. */
  readonly network: Network;
  /** By the kind of work. */
  readonly timeLimits: Readonly<Record<ModelKind, TimeLimits>>;
  /** At least one, in the order of the file. */
  readonly accounts: readonly [Account, ...Account[]];
  /** Whether every account can read what the provider stores for another: responses, threads, files. */
  readonly accountsShareStorage: boolean;
  /** How many requests of one account may be in flight in one process. */
  readonly maxConcurrentPerProcess: number;
  /** How long a request waits for an account in which nothing is free, where no other candidate can take it. */
  readonly maxWaitMs: number;
  readonly onDisconnect: 'cancel' | 'drain';
  readonly drainMs: number;
  /** When it rests after failures; null: never by itself. */
  readonly cooldown: Cooldown | null;
  /** Whether a translated request passes a caller's end-user ids to the provider. */
  readonly forwardUserIds: boolean;
  /** Whether the provider gets the trace of a request, to continue it. */
  readonly passTraceparent: boolean;
  /** How it departs from its protocols: its preset's quirks, with the configuration's changes. */
  readonly quirks: Quirks;
  /** Further quirks of the models that speak a protocol. */
  readonly quirksOf: Readonly<Partial<Record<Protocol, QuirksInput>>>;
  /** And of those whose ids fit; the first row of a protocol that fits. */
  readonly quirksOfModels: NonNullable<Preset['quirksOfModels']>;
}

/** The bounds of all attempts for one request. */
export interface Fallback {
  /** The most requests that are sent for one request of a caller. */
  readonly maxAttempts: number;
  /** From the first attempt's beginning: the first output has come by then, or the request fails. */
  readonly totalMs: number;
}

/** When a second candidate is called beside one whose first output is late. */
export interface Hedge {
  /** Bounds of the delay, which otherwise is the time within which 95 % of the channel's first outputs came. */
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  /** First outputs of the model at the channel that must have been seen. */
  readonly minSamples: number;
  /** Of the requests for the model that may be hedged, at most. */
  readonly maxShare: number;
}

/** One way to reach a model: a channel and that channel's own name for it. The model's settings for all routes are filled in. */
export interface Route {
  readonly channel: Channel;
  /** Which of its channel's protocols the model has. */
  readonly speaks: readonly Protocol[];
  /** Null: the caller's name is passed on. A `*` stands for the text that the one of the model's pattern takes in. */
  readonly model: string | null;
  /** What it charges, as a multiple of the model's price. */
  readonly priceFactor: number;
  /** Lower numbers first. */
  readonly priority: number;
  readonly weight: number;
  readonly fallback: Fallback;
  /** Null: never. */
  readonly hedge: Hedge | null;
  /** The channel's quirks, with the route's changes. */
  readonly quirks: Quirks;
  readonly builtInTools: 'any' | readonly string[];
  /** Transcript formats; null: the family's. */
  readonly formats: readonly string[] | null;
  /** The largest file and the longest recording, in bytes and seconds; null: the family's. */
  readonly maxFileBytes: number | null;
  readonly maxAudioSeconds: number | null;
  /** Whether speech can be had as raw audio, as events, or both; null: the family's. */
  readonly streamFormats: readonly ('audio' | 'sse')[] | null;
  /** Voices beside those of the family; null: none. */
  readonly voices: readonly string[] | null;
  /** What a mask's transparent pixels mean to this route's provider; null: the model's setting. */
  readonly maskTransparent: 'edit' | 'preserve' | null;
}

/** A name, or a pattern with `*`, that callers may use. */
export interface Model {
  readonly pattern: string;
  readonly isPattern: boolean;
  readonly kind: ModelKind;
  readonly routes: readonly Route[];
  /** The name of a family of this kind's service, or its own rules; null: by the model's name. */
  readonly family: string | ImageFamily | null;
  readonly price: Price | null;
  readonly dropUnavailableTools: boolean;
  readonly maskTransparent: 'edit' | 'preserve';
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
}

/** Which conversations are stored, for whom and how long. */
export interface ConversationRules {
  /** Counted from the last read or continuation. */
  readonly retentionMs: number;
  /** How much a key (or a team that shares) may store in all; 0: no bound. */
  readonly maxBytesPerKey: number;
  /** How many responses, and how many bytes, may lead to one that is continued. */
  readonly maxChainLength: number;
  readonly maxChainBytes: number;
  /** Keys, by id, and models, by name or pattern, whose conversations are not stored. */
  readonly neverKept: { readonly keys: readonly string[]; readonly models: readonly string[] };
  /** Teams whose keys may read and continue what any of them has made. */
  readonly sharingTeams: readonly string[];
}

export interface Configuration {
  /** `environment`: made from provider keys in the environment; `simulator`: without a file and provider keys. */
  readonly source: 'file' | 'environment' | 'simulator';
  /** Changes whenever the file's text does; empty without a file. */
  readonly revision: string;
  readonly channels: ReadonlyMap<string, Channel>;
  /** In the order of the file. */
  readonly models: readonly Model[];
  readonly conversations: ConversationRules;
  readonly alerts: Alerts;
  /** Null: nothing is logged of what requests ask and are answered. */
  readonly contentLog: ContentLogSettings | null;
  /** In the order of the file, in which they check. */
  readonly hooks: readonly HookSettings[];
  /** The way to everything that is no channel's. */
  readonly network: Network;
}

/** A short name for a configuration's text. */
export const revisionOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16);
