import type { Identity } from '@gateway/contracts/identity';
import type { UsageDetail } from '@gateway/contracts/usage/usage-detail';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import type { Hooks } from '@gateway/hooks/open-hooks';
import type { PendingEntry } from '@gateway/metering/limits/request-entry';
import type { Meter } from '@gateway/metering/meter/meter';
import type { Refusals } from '@gateway/metering/usage/refusals';
import type { Caller } from '@gateway/model-service/caller';
import type { ContentLog, ContentNote } from '@gateway/model-service/content-log/content-log';
import type { ReservedRequest } from '@gateway/model-service/metered-request';
import type { SpanContents } from '@gateway/model-service/tracing/content/span-contents';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { NamedFetching } from '@gateway/upstream/fetching/fetch-named';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import type { Waiting } from '../../large/in-thread.ts';
import type { TextMetrics } from '../../metering/text-metrics.ts';
import type { IdOrigins } from '../../stored/origins/id-origins.ts';
import type { BackgroundUsage } from '../../stored/pending-responses.ts';
import type { ConversationStore } from '../../stored/store/conversation-store.ts';
import type { CompactionSeals } from '../../wire/tokens/compaction-seal.ts';
import type { TokenSeals } from '../../wire/tokens/opaque-token.ts';
import type { Usage } from '../../wire/usage.ts';
import type { History } from './history.ts';
import type { ResponseMemory } from './response-memory.ts';
import type { TextEndpoint } from './text-endpoint.ts';
import type { TextRequest } from './text-request.ts';

/** What the handlers of this service are made of. */
export interface TextServices {
  readonly upstream: Upstream;
  readonly origins: IdOrigins;
  readonly conversations: ConversationStore;
  readonly background: BackgroundUsage;
  readonly metrics: TextMetrics;
  /** For upstreams that take no URLs of images and documents. */
  readonly fetching: NamedFetching;
  /** Seals what must survive its way through a client of another protocol. */
  readonly tokens: TokenSeals;
  /** Seals summaries of conversations. */
  readonly compactions: CompactionSeals;
  readonly meter: Meter;
  readonly contentLog: ContentLog;
  /** Null: spans have no content. */
  readonly spanContents: SpanContents | null;
  readonly hooks: Hooks;
  readonly refusals: Pick<Refusals<RefusalReason>, 'add'>;
  readonly now: () => number;
  readonly maxBodyBytes: number;
  readonly maxJsonDepth: number;
  /** See `TEXT_KEEP_ALIVE_MS`. */
  readonly keepAliveMs: number;
}

/** What has been reserved for a call, to be settled by its outcome. */
export interface Reservation extends ReservedRequest {
  readonly estimate: UsageResult;
}

/** A request for a model that has been validated, with what it names. */
export interface OpenedCall {
  readonly services: TextServices;
  readonly endpoint: TextEndpoint;
  readonly identity: Identity;
  readonly context: RequestContext;
  readonly caller: Caller;
  /** Of a request that is counted with what it reserves. */
  readonly entry: PendingEntry | undefined;
  readonly request: TextRequest;
  readonly model: ResolvedModel;
  readonly history: History;
  /** Of the WebSocket that the call came over; absent where it came over HTTP. */
  readonly memory?: ResponseMemory;
  /** On the clock of `performance.now()`. */
  readonly startedAt: number;
  /** Absent: no rule of the content log applies to it. */
  readonly content?: CallContent;
  /** Absent: no hook checks it. */
  readonly hooks?: CallHooks;
}

/** The checks of a call's answer. */
export interface CallHooks {
  /** For its usage record. */
  readonly note: Pick<UsageDetail, 'hooks'>;
  /** Waits for the checks that run beside the call. @throws {GatewayError} where they block it */
  beside(): Promise<void>;
  /**
   * A reply as it may be read: with its texts held until they were checked.
   *
   * @throws {GatewayError} where the input was blocked meanwhile; the reply is cancelled
   */
  reply(reply: Reply): Promise<Reply>;
}

/** What of a call goes to the content log. */
export interface CallContent {
  /** For its usage record. */
  readonly note: ContentNote;
  /** Hooks have put other texts into what its caller has sent: these are logged. */
  replaced(bytes: Buffer): void;
  /** It has ended, and its caller knows. */
  end(outcome: { readonly candidate: Candidate | null; readonly thrown: unknown }): void;
  /** It was not let in. A call that has ended stays. */
  cancel(): void;
}

/** A call that has what it continues for itself, until it gives that back. */
export interface HeldCall extends OpenedCall {
  /** Gives it back. Never rejects. Null where nothing is held. */
  readonly release: (() => Promise<void>) | null;
}

/** Who waits for work on a call's large body. */
export const waitingFor = ({ identity, context }: Pick<OpenedCall, 'identity' | 'context'>): Waiting => ({
  owner: identity.keyId,
  signal: context.signal,
  load: context.load,
});

export const NOTHING_HELD = { release: null } as const;

/** A call that has been let in, and can be sent to its candidates. */
export interface TextCall extends HeldCall {
  /** Null for calls that cost nothing, or whose job reserves. */
  readonly reservation: Reservation | null;
  /** Null where its conversation need not be compacted yet. Absent where nobody has looked, or a provider looks. */
  readonly compacted?: Compacted | null;
}

/** A conversation that the gateway has compacted before it is answered. */
interface Compacted {
  /** As the caller is shown it. */
  readonly summary: string;
  readonly encryptedContent: string;
  /** Messages: what it had changed of the request's tools. */
  readonly toolChanges: readonly unknown[];
  /** Of what is left of the request, in characters. */
  readonly inputLength: number;
  /** What the summary took, beside what the answer takes. */
  readonly spent: {
    readonly usage: Usage;
    readonly estimated: boolean;
    readonly candidate: Candidate;
    readonly attempts: number;
    /** Replies before it that turned out to be none. */
    readonly discarded: readonly {
      readonly usage: Usage | null;
      readonly estimated: boolean;
      readonly candidate: Candidate;
    }[];
  };
}
