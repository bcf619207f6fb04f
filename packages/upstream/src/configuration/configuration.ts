import type { Price } from '@gateway/contracts/price';
import type { Quirks } from '@gateway/contracts/quirks';
import type { LibraryName } from '../libraries/libraries.ts';
import type { ModelKind, Operation, Protocol } from '../protocol.ts';
import type { ChannelSecrets } from './channel-secrets.ts';
import type { ImageFamily } from './image-family-schema.ts';
import type { Provider } from './presets.ts';

/** One provider account that we may call, with every default filled in. Safe to log: `secrets` shows nothing. */
export interface Channel {
  readonly name: string;
  readonly provider: Provider;
  /** Scheme, host and port, such as `https://api.openai.com`. */
  readonly origin: string;
  /** Full path of each operation that the channel can be asked for. */
  readonly paths: Readonly<Partial<Record<Operation, string>>>;
  readonly speaks: readonly Protocol[];
  /** The client library that its provider is called through; null: it speaks the protocol itself. */
  readonly library: LibraryName | null;
  readonly timeouts: {
    readonly connectMs: number;
    /** Null: not configured; 60 s for a streamed reply, otherwise `totalMs`, because a whole reply is its first output. */
    readonly firstOutputMs: number | null;
    readonly idleMs: number;
    readonly totalMs: number;
  };
  readonly maxConcurrent: number;
  readonly onDisconnect: 'cancel' | 'drain';
  readonly drainMs: number;
  /** Whether its provider is told a caller's end-user ids where a request is translated. */
  readonly forwardUserIds: boolean;
  /** How it departs from its protocols: what is known of its kind, and what the configuration changes. */
  readonly quirks: Quirks;
  readonly secrets: ChannelSecrets;
}

/** One way to reach a model: a channel and that channel's own name for it. What a model says for all is filled in. */
export interface Route {
  readonly channel: Channel;
  /** Null: the caller's name is passed on. */
  readonly model: string | null;
  /** Lower numbers first. */
  readonly priority: number;
  readonly weight: number;
  /** The channel's, with what the route says of this model. */
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
  /** What a mask's transparent pixels mean to this route's provider; null: as the model says. */
  readonly maskTransparent: 'edit' | 'preserve' | null;
}

/** A name, or a pattern with `*`, that callers may ask for. */
export interface Model {
  readonly pattern: string;
  readonly isPattern: boolean;
  readonly kind: ModelKind;
  readonly routes: readonly Route[];
  /** A name known to the service of this kind, or rules of its own; null: by the model's name. */
  readonly family: string | ImageFamily | null;
  readonly price: Price | null;
  readonly dropUnavailableTools: boolean;
  readonly maskTransparent: 'edit' | 'preserve';
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
}

export interface Configuration {
  /** `environment`: made from provider keys in the environment; `simulator`: there was nothing else. */
  readonly source: 'file' | 'environment' | 'simulator';
  /** Changes whenever the file's text does; empty without a file. */
  readonly revision: string;
  readonly channels: ReadonlyMap<string, Channel>;
  /** In the order of the file. */
  readonly models: readonly Model[];
}
