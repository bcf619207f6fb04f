import type { FinishReason } from '@gateway/contracts/finish-words';
import type { Usage } from '../../wire/usage.ts';
import type { ReplyPart } from '../parts.ts';

/** Why an answer ended. */
export interface Finish {
  readonly reason: FinishReason;
  readonly stopSequence?: string | undefined;
  readonly refusalCategory?: string | undefined;
  readonly explanation?: string | undefined;
  /** The upstream's own word where it was not known and `stop` was assumed; for the log. */
  readonly unknown?: string | undefined;
}

/** The reason that fits what an answer holds, where its server names another: agents go by it. A cut stays one. */
export function fittingReason(reason: FinishReason, { calls }: { readonly calls: boolean }): FinishReason {
  if (calls) return reason === 'stop' || reason === 'stop-sequence' ? 'tool-calls' : reason;
  return reason === 'tool-calls' ? 'stop' : reason;
}

/** A finished answer, free of any protocol. Ids, model name and times are the gateway's and are added when encoding. */
export interface Reply {
  readonly parts: readonly ReplyPart[];
  readonly finish: Finish;
  readonly usage: Usage;
  /** The tier that really served, in OpenAI's words: `default`, `priority`, `flex`. */
  readonly serviceTier?: string | undefined;
}

/** What a caller reads whose answer was refused without an explanation. */
export const REFUSAL_TEXT = "I can't help with that.";
