import type { Quirks } from '@gateway/contracts/quirks';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import type { TextProtocol } from '../wire/text-protocol.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import type { Usage } from '../wire/usage.ts';
import type { OpaquePayload, Vendor } from './parts.ts';
import type { CallerTool } from './tool-names.ts';

/** A guardrail of Bedrock's. */
export interface Guardrail {
  readonly id: string;
  readonly version: string;
  readonly trace?: string | undefined;
}

/** The upstream that a request is written for. */
export interface Target {
  readonly protocol: ConversationProtocol;
  /** The channel's own name of the model. */
  readonly model: string;
  /** Whose reasoning payloads it makes and takes. */
  readonly vendor: Vendor;
  /** What its payloads are bound to: the channel's organisation or credential, in any stable words. */
  readonly scope: string;
  readonly quirks: Quirks;
  /** The model's configured maximum; sent where the protocol demands a bound and the caller gave none. */
  readonly maxOutputTokens: number;
  /** Built-in tools that the model offers, by family. */
  readonly builtInTools: 'any' | readonly string[];
  /** What the provider guards its answers with, where the request has to say it. */
  readonly guardrail?: Guardrail | undefined;
  /** Leave out built-in tools that are not available instead of refusing the request. */
  readonly dropUnavailableTools?: boolean | undefined;
  /** Send no earlier reasoning: the upstream refused it ("invalid signature") after the gateway had changed channels. */
  readonly withholdReasoning?: boolean | undefined;
  /** The request is not answered, only counted: it may end with an answer. */
  readonly countsOnly?: boolean | undefined;
  /** Whether the caller's end-user id may be shown to the provider. */
  readonly forwardUserIds?: boolean | undefined;
}

/** What a request was changed into, so that the answer can be changed back. */
export interface Restorations {
  /** Tools that the upstream knows differently, by its name. */
  readonly tools: ReadonlyMap<string, CallerTool>;
  /** Stop sequences that the upstream did not get and that the gateway cuts at. */
  readonly stopSequences: readonly string[];
  /** The forced tool whose arguments are the answer, where the upstream has no structured output. */
  readonly answerTool: string | null;
}

/** What a caller is shown of a conversation that was compacted before its answer. */
export interface ShownCompaction {
  readonly summary: string;
  readonly encryptedContent: string;
  /** Messages: what the conversation had changed of the request's tools. */
  readonly toolChanges: readonly unknown[];
  /** Of the summary alone. */
  readonly usage: Usage;
}

/** Everything about one request that its answer depends on. Made by `translateRequest`. */
export interface AnswerPlan {
  readonly caller: TextProtocol;
  readonly target: Target;
  /** The model as the caller named it; it is what the answer shows. */
  readonly model: string;
  readonly restore: Restorations;
  readonly stream: boolean;
  /** The upstream is requested to answer whole, whatever the caller wants. */
  readonly answeredWhole?: boolean | undefined;
  /** The upstream may pause its own tool loop and want to be continued. */
  readonly mayPause: boolean;
  /** Members of the caller's request that the answer repeats (Responses only). */
  readonly echo: { readonly [member: string]: unknown };
  /** Whether the caller requested the pages that a web search found. */
  readonly showSources: boolean;
  /** Whether the caller requested sealed reasoning. */
  readonly showEncryptedReasoning: boolean;
  /** Gemini: the caller has not requested to see thoughts. */
  readonly hidesThoughts?: true | undefined;
  /** Chat: whether the stream ends with a usage chunk. */
  readonly showUsage: boolean;
  /** The ids of the calls that the conversation has already. */
  readonly usedCallIds: readonly string[];
  /** Comes first in the answer. */
  readonly compaction?: ShownCompaction | undefined;
}

/** What pure functions cannot make themselves. */
export interface ReplyContext {
  /** A new id with this prefix, as `msg_…`; never the same twice. */
  readonly mintId: (prefix: string) => string;
  /** Unix time in seconds. */
  readonly nowSeconds: () => number;
  readonly tokens: OpaqueTokens;
  /** Takes the channel's secrets and addresses out of an upstream's words. */
  readonly cleanText: (text: string) => string;
  /** The input tokens in the first event of a Messages stream, until the upstream has counted. */
  readonly estimatedInputTokens?: number | undefined;
  /** The id under which the gateway knows this answer; minted where absent. */
  readonly replyId?: string | undefined;
  /** Shown in the error event that ends a Messages stream. */
  readonly requestId?: string | undefined;
}

/** What encoders of answers are given. */
export interface AnswerContext extends ReplyContext {
  readonly plan: AnswerPlan;
}

/** Whether a payload may be shown to this upstream again. Some are bound to an organisation; others are free. */
export const acceptsPayload = (target: Target, payload: OpaquePayload): boolean =>
  !target.withholdReasoning &&
  payload.vendor === target.vendor &&
  (payload.scope === undefined || payload.scope === target.scope);
