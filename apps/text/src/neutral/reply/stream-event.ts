import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Usage } from '../../wire/usage.ts';
import type { Citation, OpaquePayload, WebSearchPart } from '../parts.ts';
import type { CallItem } from '../tool.ts';
import type { Finish } from './reply.ts';

/**
 * A streamed answer, free of any protocol. Promise of every decoder: one `start` first; parts strictly one after
 * another, each opened and closed once; exactly one `finish` or `error` last. Empty deltas do not occur.
 */
export type StreamEvent =
  | { readonly type: 'start'; readonly usage: Usage; readonly serviceTier?: string | undefined }
  | { readonly type: 'text-start' }
  | {
      readonly type: 'text-delta';
      readonly text: string;
      readonly logprobs?: readonly unknown[] | undefined;
    }
  /** Between the start and the end of a text; offsets as in `Citation`. */
  | { readonly type: 'text-citation'; readonly citation: Citation }
  | { readonly type: 'text-end' }
  | { readonly type: 'refusal-start' }
  | { readonly type: 'refusal-delta'; readonly text: string }
  | { readonly type: 'refusal-end' }
  | { readonly type: 'reasoning-start'; readonly form: 'summary' | 'trace' }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  /** Another part of the same summary begins. */
  | { readonly type: 'reasoning-break' }
  | { readonly type: 'reasoning-end'; readonly payload?: OpaquePayload | undefined }
  | {
      readonly type: 'tool-call-start';
      readonly id: string;
      readonly name: string;
      readonly custom?: boolean | undefined;
      readonly namespace?: string | undefined;
      /** All of the call, where the caller gets an item of another type. */
      readonly item?: CallItem | undefined;
    }
  | { readonly type: 'tool-call-delta'; readonly text: string }
  | { readonly type: 'tool-call-end' }
  | { readonly type: 'web-search-start' }
  | { readonly type: 'web-search-end'; readonly search: WebSearchPart }
  /** The upstream is alive and has no output yet. */
  | { readonly type: 'ping' }
  | {
      readonly type: 'finish';
      readonly finish: Finish;
      readonly usage: Usage;
      readonly serviceTier?: string | undefined;
    }
  | { readonly type: 'error'; readonly error: GatewayError; readonly usage: Usage };
